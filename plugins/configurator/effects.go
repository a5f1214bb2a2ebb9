package configurator

import (
	"context"

	rpc "google.golang.org/grpc"
	"google.golang.org/grpc/metadata"
	"google.golang.org/protobuf/proto"

	"github.com/tenuto-dev/tenuto/plugins/orchestrator"
	"github.com/tenuto-dev/tenuto/proto/ligato/generic"
)

// Keys in the trailer of the answer to a change. The messages come from the
// predecessor and have no fields for this information.
const (
	// SummaryTrailer says how much of the change is in effect: "3 of 5 in effect, 1
	// pending (waits for loop1), 1 UNIMPLEMENTED (no plugin handles it)".
	SummaryTrailer = "summary-bin"
	// NotInEffectTrailer is a generic.SetConfigResponse with the items that are not
	// in effect, as many as fit, with their states and reasons; absent without any.
	NotInEffectTrailer = "not-in-effect-bin"
)

// maxSummary limits the summary, in bytes.
const maxSummary = 1000

// tellEffects puts into the trailer what became of the items of a change.
func (p *Plugin) tellEffects(ctx context.Context, source string, results []orchestrator.Result) {
	effects, summary := orchestrator.Effects(source, results)
	list := &generic.SetConfigResponse{}
	for i := range effects {
		if effects[i].InEffect() {
			continue
		}
		r := &generic.UpdateResult{Key: shorten(results[i].Key), Status: effectStatus(results[i], effects[i])}
		if proto.Size(list)+proto.Size(r) >= maxDetails {
			break
		}
		list.Results = append(list.Results, r)
	}
	md := metadata.Pairs(SummaryTrailer, shortenTo(summary.Text, maxSummary))
	if len(list.Results) > 0 {
		if text, err := proto.Marshal(list); err == nil { // it is made of valid text
			md.Append(NotInEffectTrailer, string(text))
		}
	}
	_ = rpc.SetTrailer(ctx, md) // it fails if the client has disconnected
}

func effectStatus(r orchestrator.Result, e orchestrator.Effect) *generic.ItemStatus {
	st := itemStatus(r)
	st.Status = e.State.String()
	st.Message = shorten(e.Reason)
	return st
}
