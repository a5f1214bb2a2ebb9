package engine

import (
	"context"
	"fmt"

	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
)

// Apply implements api.Committer.
func (e *Engine) Apply(ctx context.Context, pl *api.Plan, opts ...api.TxnOption) (seqNum uint64, err error) {
	if api.ValuesDigest(pl.Values) != pl.Digest {
		err := fmt.Errorf("%w: its values do not match their digest", api.ErrPlanVersion)
		return api.NoSeqNum, api.NewTransactionError(err, nil, false)
	}
	o := api.ApplyTxnOptions(opts)
	o.Resync, o.KeepFound = pl.Resync, pl.KeepFound
	if o.Description == "" {
		o.Description = pl.Description
	}
	return e.admission.submit(ctx, &northbound{commit{values: pl.Values, opts: o}, pl})
}
