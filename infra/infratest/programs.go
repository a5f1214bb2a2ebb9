package infratest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"syscall"
	"testing"

	"github.com/tenuto-dev/tenuto/infra/config"
)

// ProgramsEnv names the environment variable with a directory of programs that are built already. "make
// test" sets it, so that each program is linked once and not by every test that runs it.
const ProgramsEnv = "TENUTO_PROGRAMS"

// Programs puts programs of cmd into a directory. It builds them if ProgramsEnv is not set; the end of the
// context ends the build.
func Programs(ctx context.Context, dir string, names ...string) error {
	if built, _ := config.ProcessEnviron(ProgramsEnv); built != "" {
		return copyAll(built, dir, names)
	}
	args := []string{"-tags=grpcnotrace", "-o", dir + "/"} // the tag of the Makefile
	for _, name := range names {
		args = append(args, "github.com/tenuto-dev/tenuto/cmd/"+name)
	}
	return Build(ctx, args...)
}

// Build runs "go build" as the project does: without cgo.
func Build(ctx context.Context, args ...string) error {
	cmd := exec.CommandContext(ctx, "go", append([]string{"build"}, args...)...)
	cmd.Env = append(cmd.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%v: %w\n%s", cmd, err, out)
	}
	return nil
}

// copyAll copies programs: a test may run them as a user who cannot read the directory of ProgramsEnv.
func copyAll(from, to string, names []string) error {
	for _, name := range names {
		if err := copyFile(filepath.Join(from, name), filepath.Join(to, name)); err != nil {
			return fmt.Errorf("%s: %w", ProgramsEnv, err)
		}
	}
	return nil
}

// Script writes a file that can be run, for example a shell script that stands for a program. A test
// that writes such a file by itself fails now and then, see whileNothingStarts.
func Script(file, text string) error {
	return whileNothingStarts(func() error { return os.WriteFile(file, []byte(text), 0o755) })
}

func copyFile(from, to string) error {
	return whileNothingStarts(func() error {
		src, err := os.Open(from)
		if err != nil {
			return err
		}
		defer src.Close()
		dst, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o755)
		if err != nil {
			return err
		}
		_, err = io.Copy(dst, src)
		return errors.Join(err, dst.Close())
	})
}

// whileNothingStarts writes a program while no other goroutine starts a process: between fork and
// exec, that process has the file open too, and Linux does not run a file that is open for writing
// ("text file busy").
func whileNothingStarts(write func() error) error {
	syscall.ForkLock.RLock()
	defer syscall.ForkLock.RUnlock()
	return write()
}

// SharedPrograms are programs of cmd that all tests of a package use. The first use builds them.
type SharedPrograms struct {
	names []string
	once  sync.Once
	dir   string
	err   error
}

// Shared returns programs. TestMain has to call their Run.
func Shared(names ...string) *SharedPrograms { return &SharedPrograms{names: names} }

// Dir returns the directory with the programs.
func (p *SharedPrograms) Dir(t testing.TB) string {
	t.Helper()
	p.once.Do(func() {
		if p.dir, p.err = os.MkdirTemp("", p.names[0]+"-test-"); p.err == nil {
			p.err = Programs(context.Background(), p.dir, p.names...)
		}
	})
	Fatal(t, p.err)
	return p.dir
}

// Run runs the tests of a package, removes the programs, and returns the exit code of the process.
func (p *SharedPrograms) Run(m *testing.M) (code int) {
	code = m.Run()
	if p.dir != "" {
		_ = os.RemoveAll(p.dir)
	}
	return code
}
