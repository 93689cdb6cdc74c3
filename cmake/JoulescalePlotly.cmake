# Plotly's JavaScript bundle, which the report page carries inside it. Without it the tables are still there.
# Sets JOULESCALE_PLOTLY_BUNDLE to the file that is built in (an empty one if there is no bundle).
set(JOULESCALE_PLOTLY "" CACHE FILEPATH "plotly.min.js, version 3; default: the one in .venv")

set(plotly_bundle "${JOULESCALE_PLOTLY}")
if(NOT plotly_bundle)
  file(GLOB plotly_candidates
    "${PROJECT_SOURCE_DIR}/.venv/lib/python3*/site-packages/plotly/package_data/plotly.min.js")
  if(plotly_candidates)
    list(GET plotly_candidates 0 plotly_bundle)
  endif()
endif()

if(plotly_bundle AND EXISTS "${plotly_bundle}")
  file(REAL_PATH "${plotly_bundle}" JOULESCALE_PLOTLY_BUNDLE)
  joulescale_feature("report page" ON "${plotly_bundle}")
elseif(JOULESCALE_PLOTLY)
  message(FATAL_ERROR "JOULESCALE_PLOTLY is '${JOULESCALE_PLOTLY}', but there is no such file")
else()
  set(JOULESCALE_PLOTLY_BUNDLE "${CMAKE_CURRENT_SOURCE_DIR}/assets/no-plotly.js")
  joulescale_feature("report page" OFF "no plotly.min.js found: run scripts/bootstrap.sh or set JOULESCALE_PLOTLY (tables work without)")
endif()
