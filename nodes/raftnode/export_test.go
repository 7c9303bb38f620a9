package raftnode

// Snapshots is how many snapshots the server keeps.
func (s *Server) Snapshots() (int, error) {
	kept, err := s.stores.snapshots.List()
	return len(kept), err
}
