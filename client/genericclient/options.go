package genericclient

import (
	"github.com/tenuto-dev/tenuto/client"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler"
	"github.com/tenuto-dev/tenuto/plugins/orchestrator"
)

// LocalClient configures the agent of this process, if its orchestrator is
// orchestrator.DefaultPlugin. It can be used when that was initialised.
var LocalClient = New(client.NewLocal(&orchestrator.DefaultPlugin, client.WithScheduler(&kvscheduler.DefaultPlugin)))
