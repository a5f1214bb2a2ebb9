package grpc

import (
	"context"
	"time"

	rpc "google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// boundStream is a stream that ends with the plugin, or if the client does not read. One goroutine
// at a time may call its methods, as with other streams.
type boundStream struct {
	rpc.ServerStream
	p   *Plugin
	ctx context.Context
	err error // of SendMsg; final
}

func (s *boundStream) Context() context.Context { return s.ctx }

// RecvMsg receives a message.
func (s *boundStream) RecvMsg(m any) error {
	if err := s.ServerStream.RecvMsg(m); err != nil {
		return err
	}
	return refused(m)
}

// SendMsg sends a message. gRPC blocks while the client does not read, and ends a blocked call only
// when the handler returns. SendMsg therefore sends in another goroutine: if the client does not
// read within send-timeout, the stream ends with RESOURCE_EXHAUSTED.
func (s *boundStream) SendMsg(m any) error {
	if s.err != nil {
		return s.err
	}
	sent := make(chan error, 1)
	s.p.Go(func(context.Context) { sent <- s.ServerStream.SendMsg(m) })
	var late <-chan time.Time // nil: never
	if timeout := s.p.cfg.SendTimeout; timeout > 0 {
		timer := time.NewTimer(timeout)
		defer timer.Stop()
		late = timer.C
	}
	select {
	case s.err = <-sent:
	case <-late:
		s.err = status.Errorf(codes.ResourceExhausted, "the client did not read the stream for %v (send-timeout in grpc.conf); read faster, or begin again",
			s.p.cfg.SendTimeout)
	case <-s.ctx.Done():
		s.err = status.FromContextError(s.ctx.Err()).Err()
	}
	return s.err
}
