// Package peers is the peers of one resource where they run without a network: in
// explorations, simulations and tests. It has them take events as the shell in peerlock
// does, and keeps what their clients believe, by which all is judged.
//
//	request, leave, message, connection, timer ──► Step ──► core
//	                                                │
//	          client: what it did, and was told ◄───┤
//	          Does: carries out what is asked for ◄─┘
//
// What lies between the peers belongs to whoever runs them: see ARCHITECTURE.md.
package peers
