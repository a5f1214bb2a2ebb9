// Package grpctest has what tests of services need: requests of bytes, and the memory that they take.
package grpctest

import (
	"context"
	"runtime"

	rpc "google.golang.org/grpc"
	"google.golang.org/grpc/mem"
)

// raw is a codec of messages that are bytes: the client needs no memory for what is in them.
type raw struct{}

func (raw) Name() string { return "proto" }

func (raw) Marshal(v any) (mem.BufferSlice, error) {
	return mem.BufferSlice{mem.SliceBuffer(v.([]byte))}, nil
}

func (raw) Unmarshal(data mem.BufferSlice, v any) error {
	*v.(*[]byte) = data.Materialize()
	return nil
}

// Call sends the bytes of a request. It returns the bytes of the response, and how much memory the
// process allocated meanwhile, garbage included.
func Call(ctx context.Context, conn rpc.ClientConnInterface, method string, request []byte) (response []byte, allocated uint64, err error) {
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	err = conn.Invoke(ctx, method, request, &response, rpc.ForceCodecV2(raw{}))
	runtime.ReadMemStats(&after)
	return response, after.TotalAlloc - before.TotalAlloc, err
}
