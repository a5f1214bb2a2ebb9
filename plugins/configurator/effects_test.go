package configurator_test

import (
	"strings"
	"testing"

	rpc "google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/protobuf/proto"

	"github.com/tenuto-dev/tenuto/plugins/configurator"
	pb "github.com/tenuto-dev/tenuto/proto/ligato/configurator"
	"github.com/tenuto-dev/tenuto/proto/ligato/generic"
	l3 "github.com/tenuto-dev/tenuto/proto/ligato/vpp/l3"
)

// The trailer of a change says what is in effect, and of everything else why not.
func TestTrailerOfAChange(t *testing.T) {
	t.Parallel()
	w := start(t)
	cfg := withInterfaces(iface("a", 1))
	cfg.VppConfig.Routes = []*l3.Route{route("10.0.0.0/8", "x")}
	cfg.VppConfig.Vrfs = []*l3.VrfTable{{Id: 7}}
	var trailer metadata.MD
	_, err := w.config.Update(w.Context(), &pb.UpdateRequest{Update: cfg}, rpc.Trailer(&trailer))
	wantError(t, err, codes.FailedPrecondition, "accepted, but 1 value is UNIMPLEMENTED: config/vpp/v2/vrf-table/id/7/protocol/IPV4: no plugin of this agent handles it")
	text := strings.Join(trailer.Get(configurator.SummaryTrailer), "|")
	for _, part := range []string{"1 of 3 in effect, ", "1 UNIMPLEMENTED (", "1 pending (", "interfaces/x"} {
		if !strings.Contains(text, part) {
			t.Errorf("the summary %q lacks %q", text, part)
		}
	}
	list := &generic.SetConfigResponse{}
	if err := proto.Unmarshal([]byte(strings.Join(trailer.Get(configurator.NotInEffectTrailer), "")), list); err != nil {
		t.Fatal(err)
	}
	states := map[string]bool{}
	for _, r := range list.Results {
		if r.Status.Message == "" {
			t.Errorf("%s has no reason", r.Key)
		}
		states[r.Status.Status] = true
	}
	if len(list.Results) != 2 || !states["PENDING"] || !states["UNIMPLEMENTED"] {
		t.Errorf("not in effect: %v", list.Results)
	}
	trailer = nil
	w.update(&pb.UpdateRequest{Update: withInterfaces(iface("a", 2))}, rpc.Trailer(&trailer))
	if got := trailer.Get(configurator.NotInEffectTrailer); len(got) != 0 || trailer.Get(configurator.SummaryTrailer)[0] != "1 of 1 in effect" {
		t.Errorf("all is in effect: %v", trailer)
	}
}
