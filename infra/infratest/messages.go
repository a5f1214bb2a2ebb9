package infratest

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/testing/protocmp"
)

// EqualMessages reports an error with the fields in which a message differs from the wanted one. what
// names the message.
func EqualMessages(tb testing.TB, what string, got, want proto.Message) {
	tb.Helper()
	if diff := cmp.Diff(want, got, protocmp.Transform()); diff != "" {
		tb.Errorf("%s (-want +got):\n%s", what, diff)
	}
}
