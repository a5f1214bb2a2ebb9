package main

import (
	"archive/tar"
	"bytes"
	"debug/elf"
	"encoding/binary"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/types"
	"github.com/google/go-containerregistry/pkg/v1/validate"
)

// sample are settings with programs that are no more than their headers; real checks
// an image that "make image" made.
func sample(t *testing.T) settings {
	t.Helper()
	dir := t.TempDir()
	for arch, machine := range machines {
		if err := os.Mkdir(filepath.Join(dir, arch), 0o755); err != nil {
			t.Fatal(err)
		}
		for _, program := range programs {
			writeProgram(t, filepath.Join(dir, arch, program), machine, elf.PT_LOAD)
		}
	}
	license := filepath.Join(dir, "LICENSE")
	if err := os.WriteFile(license, []byte("the license\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	return settings{
		programs: dir, license: license, version: "v1.2.3", revision: "abc", created: time.Unix(1_700_000_000, 0).UTC(), out: filepath.Join(t.TempDir(), "image.tar"),
	}
}

func writeProgram(t *testing.T, file string, machine elf.Machine, segment elf.ProgType) {
	t.Helper()
	h := elf.Header64{
		Type: uint16(elf.ET_EXEC), Machine: uint16(machine), Version: uint32(elf.EV_CURRENT), Phoff: 64, Ehsize: 64, Phentsize: 56, Phnum: 1, Shentsize: 64,
	}
	copy(h.Ident[:], elf.ELFMAG)
	h.Ident[elf.EI_CLASS], h.Ident[elf.EI_DATA], h.Ident[elf.EI_VERSION] = byte(elf.ELFCLASS64), byte(elf.ELFDATA2LSB), byte(elf.EV_CURRENT)
	var b bytes.Buffer
	if err := errors.Join(binary.Write(&b, binary.LittleEndian, h), binary.Write(&b, binary.LittleEndian, elf.Prog64{Type: uint32(segment)})); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, b.Bytes(), 0o755); err != nil {
		t.Fatal(err)
	}
}

// unpack extracts an archive, as "skopeo copy oci-archive:" does, and returns the index
// of the architectures.
func unpack(t *testing.T, file string) v1.ImageIndex {
	t.Helper()
	f, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	dir := t.TempDir()
	for r := tar.NewReader(f); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err == nil && h.Typeflag == tar.TypeReg {
			var text []byte
			if text, err = io.ReadAll(r); err == nil {
				err = errors.Join(os.MkdirAll(filepath.Dir(filepath.Join(dir, h.Name)), 0o755), os.WriteFile(filepath.Join(dir, h.Name), text, 0o644))
			}
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	top, err := layout.ImageIndexFromPath(dir)
	if err != nil {
		t.Fatal(err)
	}
	m, err := top.IndexManifest()
	if err != nil || len(m.Manifests) != 1 || m.Manifests[0].MediaType != types.OCIImageIndex || m.Manifests[0].Annotations["org.opencontainers.image.ref.name"] == "" {
		t.Fatalf("index.json: %v, %+v", err, m)
	}
	index, err := top.ImageIndex(m.Manifests[0].Digest)
	if err == nil {
		err = validate.Index(index)
	}
	if err != nil {
		t.Fatalf("invalid image: %v", err)
	}
	return index
}

// content lists the files of an image with their modes, and returns their texts.
func content(t *testing.T, image v1.Image) (names []string, texts map[string][]byte) {
	t.Helper()
	layers, err := image.Layers()
	if err != nil || len(layers) != 1 {
		t.Fatalf("%d layers, %v", len(layers), err)
	}
	text, err := layers[0].Uncompressed()
	if err != nil {
		t.Fatal(err)
	}
	defer text.Close()
	texts = map[string][]byte{}
	for r := tar.NewReader(text); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return names, texts
		}
		if err != nil {
			t.Fatal(err)
		}
		if h.Uid != 0 || h.Gid != 0 || h.Uname != "" {
			t.Errorf("%s belongs to %d:%d %s", h.Name, h.Uid, h.Gid, h.Uname)
		}
		names = append(names, h.FileInfo().Mode().String()+" "+h.Name)
		if texts[h.Name], err = io.ReadAll(r); err != nil {
			t.Fatal(err)
		}
	}
}

// checkImage checks all of an archive, and returns the texts of its files by architecture.
func checkImage(t *testing.T, file string) map[string]map[string][]byte {
	t.Helper()
	index := unpack(t, file)
	m, err := index.IndexManifest()
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]map[string][]byte{}
	for _, d := range m.Manifests {
		image, err := index.Image(d.Digest)
		if err != nil {
			t.Fatal(err)
		}
		config, err := image.ConfigFile()
		if err != nil {
			t.Fatal(err)
		}
		if config.Architecture != d.Platform.Architecture || config.OS != "linux" || d.MediaType != types.OCIManifestSchema1 {
			t.Errorf("%s of %s in %+v", config.OS, config.Architecture, d)
		}
		for _, label := range []string{"title", "description", "source", "licenses", "version", "revision", "created"} {
			if key := "org.opencontainers.image." + label; config.Config.Labels[key] == "" || config.Config.Labels[key] != m.Annotations[key] {
				t.Errorf("%s: label %q, annotation %q", key, config.Config.Labels[key], m.Annotations[key])
			}
		}
		if config.Config.User != "0:0" || !slices.Equal(config.Config.Entrypoint, []string{"/usr/bin/vpp-agent"}) {
			t.Errorf("user %q runs %q", config.Config.User, config.Config.Entrypoint)
		}
		names, texts := content(t, image)
		for _, want := range []string{
			"-rwxr-xr-x usr/bin/vpp-agent", "-rwxr-xr-x usr/bin/vpp-agent-init", "-rwxr-xr-x usr/bin/agentctl", "-rwxr-xr-x usr/bin/tenuto-controller", "drwx------ var/lib/vpp-agent/",
			"drwxr-xr-x etc/vpp-agent/", "dtrwxrwxrwx tmp/", "-rw-r--r-- etc/ssl/certs/ca-certificates.crt",
		} {
			if !slices.Contains(names, want) {
				t.Errorf("%s: %q is not in %q", config.Architecture, want, names)
			}
		}
		if n := bytes.Count(texts["etc/ssl/certs/ca-certificates.crt"], []byte("BEGIN CERTIFICATE")); n < 100 {
			t.Errorf("%d authorities", n)
		}
		found[config.Architecture] = texts
	}
	if found["amd64"] == nil || found["arm64"] == nil || len(found) != 2 {
		t.Errorf("the image has %d architectures", len(found))
	}
	return found
}

func TestImage(t *testing.T) {
	t.Parallel()
	s := sample(t)
	if err := build(s); err != nil {
		t.Fatal(err)
	}
	for arch, texts := range checkImage(t, s.out) {
		want, err := os.ReadFile(filepath.Join(s.programs, arch, "agentctl"))
		if err != nil || !bytes.Equal(texts["usr/bin/agentctl"], want) {
			t.Errorf("%s: another program: %v", arch, err)
		}
	}
	rest, err := os.ReadDir(filepath.Dir(s.out))
	if err != nil || len(rest) != 1 {
		t.Errorf("left behind: %v, %v", rest, err)
	}
}

// The same input gives the same bytes.
func TestImageIsReproducible(t *testing.T) {
	t.Parallel()
	s := sample(t)
	again := s
	again.out = filepath.Join(t.TempDir(), "again.tar")
	if err := errors.Join(build(s), build(again)); err != nil {
		t.Fatal(err)
	}
	first, err1 := os.ReadFile(s.out)
	second, err2 := os.ReadFile(again.out)
	if err := errors.Join(err1, err2); err != nil || !bytes.Equal(first, second) {
		t.Errorf("made twice, the image differs: %v", err)
	}
}

// Programs that would not run in the image are refused.
func TestWrongPrograms(t *testing.T) {
	t.Parallel()
	for want, spoil := range map[string]func(file string){
		"expected EM_X86_64":     func(file string) { writeProgram(t, file, elf.EM_AARCH64, elf.PT_LOAD) },
		"needs shared libraries": func(file string) { writeProgram(t, file, elf.EM_X86_64, elf.PT_INTERP) },
		"bad magic number":       func(file string) { _ = os.WriteFile(file, []byte("#!/bin/sh\necho no program\n"), 0o755) },
		"no such file":           func(file string) { _ = os.Remove(file) },
	} {
		s := sample(t)
		spoil(filepath.Join(s.programs, "amd64", "agentctl"))
		if err := build(s); err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "agentctl") {
			t.Errorf("got %v, want %q", err, want)
		}
		if _, err := os.Stat(s.out); err == nil {
			t.Errorf("%s: an image was written all the same", want)
		}
	}
}

// TestMadeImage checks the image that "make image" made, named by IMAGE.
func TestMadeImage(t *testing.T) {
	t.Parallel()
	file := os.Getenv("IMAGE")
	if file == "" {
		t.Skip("SKIPPED: IMAGE names no image; make check-packages makes and checks one")
	}
	for arch, texts := range checkImage(t, file) {
		for _, program := range programs {
			if n := len(texts["usr/bin/"+program]); n < 5<<20 {
				t.Errorf("%s: %s has %d bytes", arch, program, n)
			}
		}
	}
}
