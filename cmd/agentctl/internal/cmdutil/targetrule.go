package cmdutil

import (
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// TargetRule is how a command treats --target.
type TargetRule string

// The rules.
const (
	EachTarget   TargetRule = "each"   // it runs on every agent, and prints what an agent answers when that is complete; the default
	FollowTarget TargetRule = "follow" // it runs on every agent, and prints every line at once
	OneTarget    TargetRule = "one"    // it runs on one agent only
	NoTarget     TargetRule = "none"   // it asks no agent
)

// onTargets is the annotation of commands and flags with their rule.
const onTargets = "on-targets"

// OnTargets sets how a command and its subcommands treat --target.
func OnTargets(cmd *cobra.Command, rule TargetRule) *cobra.Command {
	if cmd.Annotations == nil {
		cmd.Annotations = map[string]string{}
	}
	cmd.Annotations[onTargets] = string(rule)
	return cmd
}

// FlagOnTargets sets how a command treats --target if it is given a flag.
func FlagOnTargets(cmd *cobra.Command, flag string, rule TargetRule) {
	_ = cmd.Flags().SetAnnotation(flag, onTargets, []string{string(rule)}) // fails only for unknown flags
}

// TargetRuleOf returns how a command treats --target, with the flags that it was given.
func TargetRuleOf(cmd *cobra.Command) (rule TargetRule) {
	cmd.Flags().Visit(func(f *pflag.Flag) {
		if a := f.Annotations[onTargets]; len(a) > 0 && f.Value.String() != "false" && f.Value.String() != "" {
			rule = TargetRule(a[0])
		}
	})
	if rule != "" {
		return rule
	}
	if !cmd.HasParent() { // it prints the help
		return NoTarget
	}
	for ; cmd != nil; cmd = cmd.Parent() {
		if rule, ok := cmd.Annotations[onTargets]; ok {
			return TargetRule(rule)
		}
	}
	return EachTarget
}
