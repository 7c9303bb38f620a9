package raftnode

import (
	"context"
	"fmt"
	"sync"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	pb "locklab/locks/raftlock/raftlockpb"
)

// service is the gRPC face of the hub.
type service struct {
	pb.UnimplementedLockServiceServer

	hub       *hub
	status    func() *pb.StatusResponse
	receivers sync.WaitGroup
}

// Session implements the service's stream: one goroutine receives, this one sends.
func (s *service) Session(stream pb.LockService_SessionServer) error {
	first, err := stream.Recv()
	if err != nil {
		return err
	}
	if first.GetHello() == nil {
		return status.Error(codes.InvalidArgument, "the first frame of a session must be a hello")
	}
	c := newConn()
	s.hub.attach(c, first.GetHello())
	defer s.hub.detach(c)
	s.receivers.Go(func() {
		for {
			frame, err := stream.Recv() // ends with the stream
			if err != nil {
				return
			}
			s.hub.receive(c, frame)
		}
	})
	for {
		select {
		case <-stream.Context().Done():
			return stream.Context().Err()
		case <-c.wake:
		}
		frame := c.take()
		if frame == nil {
			continue
		}
		if err := stream.Send(frame); err != nil {
			return fmt.Errorf("send frame: %w", err)
		}
		if frame.GetEnd() != nil {
			return nil
		}
	}
}

// Status implements the service's unary call.
func (s *service) Status(context.Context, *pb.StatusRequest) (*pb.StatusResponse, error) {
	return s.status(), nil
}
