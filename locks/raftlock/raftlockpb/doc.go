// Package raftlockpb is the wire protocol of the lock service (raftlock.proto) and what
// its servers keep (log.proto). The other files are generated.
package raftlockpb

//go:generate protoc --go_out=. --go_opt=paths=source_relative --go-grpc_out=. --go-grpc_opt=paths=source_relative raftlock.proto log.proto
