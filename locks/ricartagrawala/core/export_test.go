package core

// At is the timestamp of the own request, for mutants.
func (s *State) At() uint64 { return s.at }
