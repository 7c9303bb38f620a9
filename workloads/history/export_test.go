package history

// Fast says whether Decode reads the line without package json.
func Fast(line []byte) bool { return new(Decoder).fast(line, &Event{}) }
