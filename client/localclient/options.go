// Package localclient makes requests to the agent of this process, for programs that were
// written for its predecessor: the orchestrator of the agent is
// orchestrator.DefaultPlugin. Others use vppconfig.New with a client of their own.
package localclient

import (
	"context"

	"github.com/tenuto-dev/tenuto/client"
	"github.com/tenuto-dev/tenuto/client/vppconfig"
	"github.com/tenuto-dev/tenuto/plugins/orchestrator"
)

// DataChangeRequest returns an empty change of items of VPP and of Linux. The history of
// the agent records caller as its author.
func DataChangeRequest(caller string) *vppconfig.Request { return local().DataChangeRequest(caller) }

// DataResyncRequest returns an empty configuration, which replaces the configuration of
// the local clients.
func DataResyncRequest(caller string) *vppconfig.Resync { return local().DataResyncRequest(caller) }

func local() *vppconfig.Client {
	return vppconfig.New(context.Background(), client.NewLocal(&orchestrator.DefaultPlugin))
}
