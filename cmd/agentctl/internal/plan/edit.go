package plan

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/tenuto-dev/tenuto/cmd/agentctl/client"
	"github.com/tenuto-dev/tenuto/cmd/agentctl/internal/cmdutil"
	"github.com/tenuto-dev/tenuto/cmd/agentctl/internal/outcome"
	"github.com/tenuto-dev/tenuto/plugins/orchestrator/document"
)

type editOptions struct {
	*cmdutil.Factory
	apply     client.ApplyOptions
	wait, yes bool
}

// NewEdit returns the command "edit".
func NewEdit(f *cmdutil.Factory) *cobra.Command {
	o := &editOptions{Factory: f}
	cmd := &cobra.Command{
		Use:   "edit MODEL/NAME...",
		Short: "Change items in an editor",
		Long: "Opens the configuration of items, whose keys may be given whole, in the editor of $VISUAL or\n" +
			"$EDITOR (vi without them). The saved text is planned, shown and applied as with \"apply\"; a\n" +
			"file with mistakes can be edited again. Nothing is applied if the items were changed\n" +
			"meanwhile. Secrets that stay *** keep their values. The change counts as a client's, and\n" +
			"overrides the stores that the items come from.\n\n" +
			"It neither renames nor removes items: a text without one of the items is refused. To rename an item,\n" +
			"apply a file that has it with the new name and what refers to it, and remove the item with the old\n" +
			"name with \"agentctl config delete FILE\".\n\n" + outcome.ExitCodes,
		Example: "  agentctl edit vpp.interfaces/loop1\n  EDITOR=nano agentctl edit vpp.acls.acl/web --confirm-timeout 60s",
		Args:    cmdutil.Args(cobra.MinimumNArgs(1)), ValidArgsFunction: f.CompleteKeys,
		RunE: o.run,
	}
	outcome.WaitFlag(cmd, &o.wait)
	yesFlag(cmd, &o.yes)
	applyFlags(cmd, &o.apply)
	return cmdutil.OnTargets(cmd, cmdutil.OneTarget)
}

func (o *editOptions) run(cmd *cobra.Command, keys []string) error {
	if err := checkTimeout(o.apply); err != nil {
		return err
	}
	keys = o.Models.FullKeys(keys)
	text, err := o.editable(cmd.Context(), keys)
	if err != nil {
		return err
	}
	p, err := o.edited(cmd, keys, text, o.yes)
	if err != nil || p == nil {
		return err
	}
	return applyPlan(cmd.Context(), o.Factory, p, o.apply, o.wait)
}

// editable returns the items as a file.
func (o *editOptions) editable(ctx context.Context, keys []string) (string, error) {
	items, err := o.Client.Configuration.Items(ctx, keys...)
	if err != nil {
		return "", err
	}
	codec := document.New(o.Models.Set())
	values := map[string]string{}
	for _, it := range items {
		values[it.Key] = it.Value
	}
	var b strings.Builder
	b.WriteString("# The saved text is planned and applied, unless it is unchanged.\n")
	for _, key := range keys {
		value, ok := values[key]
		if !ok {
			return "", o.NoSource(ctx, key)
		}
		place, many := "", false
		if m, ok := o.Models.Set().ForKey(key); ok {
			place, many = codec.Place(m.Spec().ModelName())
		}
		if place == "" {
			return "", fmt.Errorf("%s: agentctl does not know where files have items of its model", key)
		}
		group, field, _ := strings.Cut(place, ".")
		dash := ""
		if many {
			dash = "  -\n"
		}
		fmt.Fprintf(&b, "---\n%s:\n  %s:\n%s    %s\n", group, field, dash, strings.ReplaceAll(strings.TrimSpace(value), "\n", "\n    "))
	}
	return b.String(), nil
}

// edited lets the user edit the text of items, and again while it has mistakes, and plans it; nil:
// it was not changed, or the user does not want to apply it.
func (o *editOptions) edited(cmd *cobra.Command, keys []string, text string, yes bool) (*filePlan, error) {
	f, err := os.CreateTemp("", "agentctl-edit-*.yaml")
	if err != nil {
		return nil, err
	}
	_, err = f.WriteString(text)
	if err = errors.Join(err, f.Close()); err != nil {
		return nil, err
	}
	for {
		if err := o.runEditor(cmd.Context(), f.Name()); err != nil {
			return nil, errors.Join(err, os.Remove(f.Name()))
		}
		saved, err := os.ReadFile(f.Name())
		if err != nil {
			return nil, err
		}
		if string(saved) == text {
			fmt.Fprintln(o.Out, "nothing was changed")
			return nil, os.Remove(f.Name())
		}
		p, err := o.planEdited(cmd, keys, f.Name(), saved, yes)
		if err == nil {
			if err := o.unchanged(cmd.Context(), keys, text); p != nil && err != nil {
				return nil, fmt.Errorf("%w (your text is in %s)", err, f.Name())
			}
			return p, os.Remove(f.Name())
		}
		if !o.Interactive() {
			return nil, fmt.Errorf("%w (your text is in %s)", err, f.Name())
		}
		if again, aerr := o.Ask(cmd.InOrStdin(), err.Error()+". Edit again?"); !again || aerr != nil {
			return nil, errors.Join(err, aerr)
		}
	}
}

// planEdited plans the saved text. A text without one of the items is refused: it would leave the item with the old
// name next to the one with the new name.
func (o *editOptions) planEdited(cmd *cobra.Command, keys []string, file string, saved []byte, yes bool) (*filePlan, error) {
	doc := document.New(o.Models.Set()).WithSecrets(cmdutil.KeepHidden).Decode(file, saved, "")
	if len(doc.Errs) > 0 { // the agent names them all
		return planToApply(o.Factory, cmd, file, Replacing{}, yes, true)
	}
	var missing, added []string
	has := map[string]bool{}
	for _, it := range doc.Items {
		has[it.Key] = true
		if !slices.Contains(keys, it.Key) {
			added = append(added, it.Key)
		}
	}
	for _, key := range keys {
		if !has[key] {
			missing = append(missing, key)
		}
	}
	switch {
	case len(missing) == 0:
		return planToApply(o.Factory, cmd, file, Replacing{}, yes, true)
	case len(added) == 0:
		return nil, fmt.Errorf("nothing was applied: the saved text lacks %s, and edit removes no items; 'agentctl config delete FILE' does", strings.Join(missing, ", "))
	}
	return nil, fmt.Errorf("nothing was applied: the saved text has %s instead of %s, and edit renames no items; to rename one, apply a file with the new name, "+
		"and remove the old one with 'agentctl config delete FILE'", strings.Join(added, ", "), strings.Join(missing, ", "))
}

// unchanged returns an error if the items are no longer what they were when the editor was
// opened: to apply the text would undo the change. What changes later makes the plan stale.
func (o *editOptions) unchanged(ctx context.Context, keys []string, text string) error {
	now, err := o.editable(ctx, keys)
	if err == nil && now != text {
		err = errors.New("nothing was applied: the items were changed while they were edited; edit them again")
	}
	return err
}

// runEditor opens a file in the user's editor.
func (o *editOptions) runEditor(ctx context.Context, file string) error {
	visual, _ := o.Environ("VISUAL")
	editor, _ := o.Environ("EDITOR")
	program := cmp.Or(visual, editor, "vi")
	run := exec.CommandContext(ctx, "sh", "-c", program+` "$1"`, "sh", file)
	run.Stdin, run.Stdout, run.Stderr = os.Stdin, o.Out, o.Err
	if err := run.Run(); err != nil {
		return fmt.Errorf("editor %q ($VISUAL, $EDITOR): %w", program, err)
	}
	return nil
}
