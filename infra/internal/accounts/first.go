package accounts

import (
	"context"
	"time"

	"github.com/tenuto-dev/tenuto/infra/logging"
	"github.com/tenuto-dev/tenuto/infra/reload"
)

// lookInterval is how often WarnOfFirst reads the configuration file.
const lookInterval = 2 * time.Second

// WarnOfFirst logs that a restart is needed when the configuration file of a server without users gets
// some, until ctx ends. has reads the file.
func WarnOfFirst(ctx context.Context, files []string, has func() (bool, error), log logging.Logger) {
	v, err := reload.Load(files, has, reload.Options{})
	if err != nil || len(files) == 0 {
		return
	}
	tick := time.NewTicker(lookInterval)
	defer tick.Stop()
	for before := false; ; {
		if now := v.Get(); now != before {
			before = now
			if now {
				log.Warn("the configuration file has users now; restart the agent, until then every client has access", "file", files[0])
			}
		}
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}
