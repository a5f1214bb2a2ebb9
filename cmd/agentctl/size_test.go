package main

import (
	"debug/elf"
	"path/filepath"
	"testing"

	"github.com/tenuto-dev/tenuto/infra/infratest"
)

// Programs stay small. A program that exceeds its limit by much has probably a new dependency, or
// calls methods by name, for example with a template: then the linker keeps all exported methods of
// all types. "go build -ldflags=-dumpdep ./cmd/agentctl 2>&1 | grep -e '-> .*<ReflectMethod>'" shows
// where.
func TestSize(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	limits := map[string]int{"agentctl": 25, "vpp-agent": 56} // MB
	infratest.Fatal(t, infratest.Programs(t.Context(), dir, "agentctl", "vpp-agent"))
	for name, limit := range limits {
		if size := loaded(t, filepath.Join(dir, name)); size > limit*1_000_000 {
			t.Errorf("%s has %d bytes without symbols, expected at most %d MB", name, size, limit)
		}
	}
}

// loaded returns the size of a program without symbols.
func loaded(t *testing.T, program string) (size int) {
	t.Helper()
	file, err := elf.Open(program)
	infratest.Fatal(t, err)
	defer file.Close()
	for _, p := range file.Progs {
		if p.Type == elf.PT_LOAD {
			size += int(p.Filesz)
		}
	}
	if size == 0 {
		t.Errorf("%s loads nothing", program)
	}
	return size
}
