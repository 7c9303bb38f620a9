package safety_test

const ms = int64(1e6)
