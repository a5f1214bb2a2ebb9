package fleet

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"google.golang.org/protobuf/proto"

	"github.com/tenuto-dev/tenuto/cmd/agentctl/internal/output"
	"github.com/tenuto-dev/tenuto/fleet/render"
)

const (
	// agentLine is the first line of a configuration, before the label.
	agentLine = "# agent: "
	// mark is the second line of files that the command writes; only such files are replaced.
	mark = "# Written by agentctl fleet render, which replaces it.\n"
)

// encode encodes the configuration of an agent.
func (o *renderOptions) encode(agent string, items []render.Item) (configuration, error) {
	c := configuration{agent: agent, origins: map[string]string{}}
	var messages []proto.Message
	for _, it := range items {
		messages = append(messages, it.Value)
		c.origins[o.Models.ShortKey(it.Key)] = it.Config
	}
	var err error
	if o.format == "json" {
		c.text, err = o.codec.EncodeUsedJSON(messages...)
	} else {
		c.text, err = o.codec.EncodeUsed(messages...)
	}
	return c, err
}

// head is what comes before a configuration in YAML.
func (c *configuration) head() string {
	return agentLine + c.agent + "\n# NetworkConfigs: " + strings.Join(c.names(), ", ") + "\n"
}

// print prints configurations.
func (o *renderOptions) print(all []configuration) error {
	switch {
	case o.format == "json" && o.agent != "":
		return o.Print(string(all[0].text))
	case o.format == "json":
		return o.printJSON(all)
	}
	for i, c := range all {
		separator := "---\n"
		if i == 0 {
			separator = ""
		}
		if err := o.Printf("%s%s%s", separator, c.head(), c.text); err != nil {
			return err
		}
	}
	return nil
}

// rendered is a configuration in JSON.
type rendered struct {
	Agent          string            `json:"agent"`
	NetworkConfigs map[string]string `json:"networkConfigs"` // of each item
	Configuration  json.RawMessage   `json:"configuration"`
}

func (o *renderOptions) printJSON(all []configuration) error {
	list := make([]rendered, 0, len(all))
	for _, c := range all {
		list = append(list, rendered{c.agent, c.origins, c.text})
	}
	return output.WriteJSON(o.Out, list)
}

// readAllocations reads the file with allocations, if there is one.
func (o *renderOptions) readAllocations() (render.Allocations, error) {
	if o.allocations == "" {
		return nil, nil
	}
	text, err := os.ReadFile(o.allocations)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("--allocations: %w", err)
	}
	all, errs := render.ReadAllocations(o.allocations, text)
	if len(errs) > 0 {
		return nil, o.refuse(errs)
	}
	return all, nil
}

// keep writes new allocations.
func (o *renderOptions) keep(r *render.Rendering) error {
	if o.allocations == "" || len(r.New) == 0 {
		return nil
	}
	text := bytes.NewBufferString("# Values of pools by agent. agentctl fleet render adds new ones; remove a line to release a value.\n")
	if err := output.WriteYAML(text, r.Allocations()); err != nil {
		return err
	}
	const readable = 0o644
	mode := fs.FileMode(readable)
	if info, err := os.Stat(o.allocations); err == nil {
		mode = info.Mode().Perm()
	}
	if err := replace(o.allocations, text.Bytes(), mode); err != nil {
		return fmt.Errorf("--allocations: %w", err)
	}
	return nil
}

// writeFiles writes a file for each agent. It writes nothing if it would replace a file that it has not written.
func (o *renderOptions) writeFiles(all []configuration) error {
	const private = 0o700
	if err := os.MkdirAll(o.outDir, private); err != nil {
		return fmt.Errorf("--out-dir: %w", err)
	}
	written := map[string]bool{}
	for _, c := range all {
		file := filepath.Join(o.outDir, c.agent+".yaml")
		written[file] = true
		if own, err := isOwn(file); err != nil {
			return fmt.Errorf("--out-dir: %w", err)
		} else if !own {
			return fmt.Errorf("--out-dir: %s exists and was not written by this command; nothing was written", file)
		}
	}
	for _, c := range all {
		head, origin, _ := strings.Cut(c.head(), "\n")
		text := append([]byte(head+"\n"+mark+origin), c.text...)
		if err := replaceIfOther(filepath.Join(o.outDir, c.agent+".yaml"), text); err != nil {
			return fmt.Errorf("--out-dir: %w", err)
		}
	}
	if o.agent == "" && o.selector == "" {
		o.warnOfOthers(written)
	}
	return nil
}

// warnOfOthers warns of files that were written for agents that have no configuration now.
func (o *renderOptions) warnOfOthers(written map[string]bool) {
	files, _ := filepath.Glob(filepath.Join(escaped(o.outDir), "*.yaml")) // fails only for malformed patterns
	for _, file := range files {
		if own, err := isOwn(file); own && err == nil && !written[file] {
			fmt.Fprintf(o.Err, "WARNING: %s is left from before: the agent has no configuration now\n", file)
		}
	}
}

// escaped is the pattern that matches only a path.
func escaped(path string) string {
	return strings.NewReplacer(`\`, `\\`, "*", `\*`, "?", `\?`, "[", `\[`).Replace(path)
}

// isOwn reports whether a file was written by writeFiles, or does not exist.
func isOwn(file string) (bool, error) {
	text, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		return true, nil
	}
	first, rest, _ := strings.Cut(string(text), "\n")
	return strings.HasPrefix(first, agentLine) && strings.HasPrefix(rest, mark), err
}

// replaceIfOther writes a private file, unless it has the text.
func replaceIfOther(file string, text []byte) error {
	const private = 0o600
	if now, err := os.ReadFile(file); err == nil && bytes.Equal(now, text) {
		return nil
	}
	return replace(file, text, private)
}

// replace writes a file, whole or not at all.
func replace(file string, text []byte, mode fs.FileMode) error {
	f, err := os.CreateTemp(filepath.Dir(file), "."+filepath.Base(file)+".*")
	if err != nil {
		return err
	}
	_, err = f.Write(text)
	if err = errors.Join(err, f.Chmod(mode), f.Close()); err == nil {
		err = os.Rename(f.Name(), file)
	}
	if err != nil {
		err = errors.Join(err, os.Remove(f.Name()))
	}
	return err
}
