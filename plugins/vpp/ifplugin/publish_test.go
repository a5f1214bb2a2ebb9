package ifplugin

import (
	"strings"
	"testing"
	"time"

	"github.com/tenuto-dev/tenuto/infra/kv"
	"github.com/tenuto-dev/tenuto/infra/logging"
)

// disabled is a store that is not configured.
type disabled struct{ kv.Writer }

func (disabled) String() string { return "etcd" }
func (disabled) Disabled() bool { return true }

func TestNewPublishers(t *testing.T) {
	t.Parallel()
	states, stores := newStates(time.Now), []StatusStore{disabled{}}
	log := logging.NewRegistry().Logger("test")
	_, err := newPublishers([]string{"redis"}, stores, states, "", log)
	if err == nil || !strings.Contains(err.Error(), `status-publishers: "redis" is no data store of this agent, expected one of ["etcd"]`) {
		t.Errorf("error %v", err)
	}
	all, err := newPublishers([]string{"etcd"}, stores, states, "", log)
	if err != nil || len(all) != 0 {
		t.Errorf("publishers to a store that is not configured: %v, %v", all, err)
	}
}
