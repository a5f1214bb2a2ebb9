package infratest_test

import (
	"os/exec"
	"path/filepath"
	"sync"
	"testing"

	"github.com/tenuto-dev/tenuto/infra/infratest"
)

// Programs that tests write can be run at once, whatever other tests start meanwhile.
func TestScriptsRun(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	var all sync.WaitGroup
	for i := range 8 {
		all.Go(func() {
			for j := range 30 {
				file := filepath.Join(dir, string(rune('a'+i))+string(rune('A'+j)))
				if err := infratest.Script(file, "#!/bin/sh\n"); err != nil {
					t.Error(err)
					return
				}
				if out, err := exec.CommandContext(t.Context(), file).CombinedOutput(); err != nil {
					t.Errorf("%v %s", err, out)
				}
			}
		})
	}
	all.Wait()
}
