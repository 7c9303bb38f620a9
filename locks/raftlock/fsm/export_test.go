package fsm

// Holder says who holds the resource, with which token.
func (s *State) Holder(resource string) (session, seq, token uint64, held bool) {
	res := s.resources[resource]
	if res == nil || res.holder == nil {
		return 0, 0, 0, false
	}
	return res.holder.session.id, res.holder.seq, res.holder.token, true
}
