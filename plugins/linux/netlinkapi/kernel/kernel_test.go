package kernel_test

import (
	"testing"

	"go.uber.org/goleak"

	"github.com/tenuto-dev/tenuto/plugins/linux/netlinkapi/nltest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestConformance(t *testing.T) {
	t.Parallel()
	nltest.Conformance(t, func(t *testing.T) *nltest.World { return nltest.Kernel(t) })
}
