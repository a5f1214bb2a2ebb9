package cmdutil

import (
	"regexp"
	"strings"

	"github.com/spf13/cobra"

	"github.com/tenuto-dev/tenuto/infra/models"
	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
	"github.com/tenuto-dev/tenuto/proto/ligato/kvscheduler"
)

// FullKey converts MODEL/NAME and keys with an agent's prefix to keys of the
// scheduler.
func (m *Models) FullKey(key string) string {
	if rest, ok := strings.CutPrefix(key, "/vnf-agent/"); ok {
		_, key, _ = strings.Cut(rest, "/")
		return key
	}
	model, name, _ := strings.Cut(key, "/")
	known, ok := m.Set().ForName(model)
	switch {
	case !ok:
		return key
	case known.Singleton():
		return known.KeyPrefix()
	}
	return known.KeyPrefix() + name
}

// ShortKey is the reverse of FullKey: MODEL/NAME for the key of an item, and other keys
// as they are.
func (m *Models) ShortKey(key string) string {
	known, ok := m.Set().ForKey(key)
	switch {
	case !ok || !known.Matches(key):
		return key
	case known.Singleton():
		return known.Spec().ModelName()
	}
	return known.Spec().ModelName() + "/" + known.Label(key)
}

// itemKeys are keys of items in texts, with the character before them.
var itemKeys = regexp.MustCompile(`(^|[^\w/])(config/[^\s,;()"]*[^\s,;()":])`)

// ShortText returns a text with short keys.
func (m *Models) ShortText(text string) string {
	return itemKeys.ReplaceAllStringFunc(text, func(match string) string {
		at := strings.Index(match, "config/")
		return match[:at] + m.ShortKey(match[at:])
	})
}

const keepsKeys = "keepsKeys"

// KeepKeys marks a command, with its subcommands, whose errors name the keys of a store.
func KeepKeys(cmd *cobra.Command) *cobra.Command {
	if cmd.Annotations == nil {
		cmd.Annotations = map[string]string{}
	}
	cmd.Annotations[keepsKeys] = ""
	return cmd
}

// ErrorText returns the text of the error of a command, with short keys.
func (m *Models) ErrorText(cmd *cobra.Command, err error) string {
	for c := cmd; c != nil; c = c.Parent() {
		if _, keeps := c.Annotations[keepsKeys]; keeps {
			return err.Error()
		}
	}
	return m.ShortText(err.Error())
}

// FullKeys is FullKey for several keys.
func (m *Models) FullKeys(keys []string) (full []string) {
	for _, key := range keys {
		full = append(full, m.FullKey(key))
	}
	return full
}

// KeysAmong separates keys, which contain a slash, from names and patterns of
// models.
func (m *Models) KeysAmong(patterns []string) (of, keys []string) {
	for _, p := range patterns {
		if strings.Contains(p, "/") {
			keys = append(keys, m.FullKey(p))
		} else {
			of = append(of, p)
		}
	}
	return of, keys
}

// KeyExample describes the keys of a model.
func KeyExample(m models.Known) string {
	if m.Singleton() {
		return m.KeyPrefix()
	}
	if m.Name() == nil {
		return m.KeyPrefix() + "..."
	}
	return m.KeyPrefix() + m.Name().String()
}

// StateName is empty for a value that does not exist.
func StateName(s api.ValueState) string {
	if s == kvscheduler.ValueState_NONEXISTENT {
		return ""
	}
	return s.String()
}
