package cmdutil

import (
	"errors"
	"net/http"

	"github.com/tenuto-dev/tenuto/cmd/agentctl/client"
)

// NotFound reports that the agent does not have the requested data.
func NotFound(err error) bool {
	e, ok := errors.AsType[*client.Error](err)
	return ok && NotServed(err) && e.Message != ""
}

// NotServed reports that the agent lacks an endpoint: it has other plugins.
func NotServed(err error) bool { return client.HasStatus(err, http.StatusNotFound) }
