// SPDX-License-Identifier: Apache-2.0
// Carries the precompiled header of torch, which all files that include torch share.
