package gnmi_test

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	gpb "github.com/openconfig/gnmi/proto/gnmi"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/tenuto-dev/tenuto/infra/grpc/grpctest"
)

// Requests of many empty paths take little memory, and get short answers.
func TestLimits(t *testing.T) { //nolint:paralleltest // it measures memory
	w := start(t, nil)
	const size = 10 << 20
	for name, test := range map[string]struct {
		method string
		field  byte // of empty messages
		size   int
	}{
		"paths of Get":          {gpb.GNMI_Get_FullMethodName, 2, size},
		"paths of a small Get":  {gpb.GNMI_Get_FullMethodName, 2, 100_000},
		"deletes of Set":        {gpb.GNMI_Set_FullMethodName, 2, size},
		"updates of Set":        {gpb.GNMI_Set_FullMethodName, 4, size},
		"models of Get":         {gpb.GNMI_Get_FullMethodName, 6, size},
		"extensions of Set":     {gpb.GNMI_Set_FullMethodName, 5, size},
		"union_replace of Set":  {gpb.GNMI_Set_FullMethodName, 6, size},
		"Capabilities, unknown": {gpb.GNMI_Capabilities_FullMethodName, 1, size},
	} {
		request := bytes.Repeat([]byte{test.field<<3 | 2, 0}, test.size/2)
		response, allocated, err := grpctest.Call(w.Context(), w.Conn, test.method, request)
		if code := status.Code(err); code != codes.ResourceExhausted && code != codes.InvalidArgument {
			t.Errorf("%s: %v", name, err)
		}
		if answer := len(response) + len(fmt.Sprint(err)); answer > 64<<10 {
			t.Errorf("%s: an answer of %d bytes", name, answer)
		}
		if limit := uint64(4*test.size) + 8<<20; allocated > limit {
			t.Errorf("%s: %d MB for a request of %d MB", name, allocated>>20, test.size>>20)
		}
		t.Logf("%s: %.1f times the request", name, float64(allocated)/float64(test.size))
	}
	_, err := w.Get(w.Context(), &gpb.GetRequest{Path: make([]*gpb.Path, 1001)})
	if status.Code(err) != codes.InvalidArgument || !strings.Contains(err.Error(), "path: 1001 paths, expected at most 1000") {
		t.Errorf("1001 paths: %v", err)
	}
}
