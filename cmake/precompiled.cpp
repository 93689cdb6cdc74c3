// Empty: the target that owns a precompiled header needs one source file.
