package vppcalls

import (
	"context"
	"errors"

	"go.fd.io/govpp/binapi/acl"

	"github.com/tenuto-dev/tenuto/plugins/govppmux/binding"
	"github.com/tenuto-dev/tenuto/plugins/vpp/session"
)

var countHits = session.Step("ACL hit counters (plugin acl of VPP)",
	session.Variant(struct{}{}, (*acl.ACLStatsIntfCountersEnable)(nil), (*acl.ACLStatsIntfCountersEnableReply)(nil)))

// CountHits has VPP count the packets that rules match. A VPP without ACLs has nothing to count.
func (c *Calls) CountHits(ctx context.Context) error {
	switch err := countHits.Check(c.vpp); {
	case errors.Is(err, binding.ErrUnsupported):
		return nil
	case err != nil:
		return err
	}
	return c.vpp.Call(ctx, &acl.ACLStatsIntfCountersEnable{Enable: true}, &acl.ACLStatsIntfCountersEnableReply{})
}
