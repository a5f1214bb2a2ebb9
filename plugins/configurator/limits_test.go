package configurator_test

import (
	"bytes"
	"fmt"
	"testing"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/tenuto-dev/tenuto/infra/grpc/grpctest"
	pb "github.com/tenuto-dev/tenuto/proto/ligato/configurator"
	"github.com/tenuto-dev/tenuto/proto/ligato/generic"
)

// Requests of empty items are refused before they take many times their size in memory.
func TestLimits(t *testing.T) { //nolint:paralleltest // it measures memory
	w := start(t)
	const size = 10 << 20
	empty := func(fields ...byte) []byte { // the last one is repeated
		return bytes.Repeat([]byte{fields[len(fields)-1]<<3 | 2, 0}, size/2)
	}
	for name, test := range map[string]struct {
		method  string
		request []byte
	}{
		"updates of SetConfig": {generic.ManagerService_SetConfig_FullMethodName, empty(1)},
		"ids of GetConfig":     {generic.ManagerService_GetConfig_FullMethodName, empty(1)},
		"Get":                  {pb.ConfiguratorService_Get_FullMethodName, empty(1)},
	} {
		_, allocated, err := grpctest.Call(w.Context(), w.Conn, test.method, test.request)
		if code := status.Code(err); code != codes.ResourceExhausted && code != codes.InvalidArgument || len(fmt.Sprint(err)) > 8<<10 {
			t.Errorf("%s: %.300v", name, err)
		}
		if limit := uint64(4*size) + 8<<20; allocated > limit {
			t.Errorf("%s: %d MB for a request of %d MB", name, allocated>>20, size>>20)
		}
		t.Logf("%s: %.1f times the request", name, float64(allocated)/size)
	}
}
