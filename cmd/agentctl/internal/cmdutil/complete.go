package cmdutil

import (
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/tenuto-dev/tenuto/plugins/kvscheduler/api"
)

// CompleteModels completes the names of models.
func (f *Factory) CompleteModels(cmd *cobra.Command, _ []string, prefix string) ([]string, cobra.ShellCompDirective) {
	if f.Connect(cmd, nil) != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	return StartingWith(prefix, names(f.Models.Set())...), cobra.ShellCompDirectiveNoFileComp
}

// CompleteKeys completes keys, whole or as MODEL/NAME.
func (f *Factory) CompleteKeys(cmd *cobra.Command, args []string, prefix string) ([]string, cobra.ShellCompDirective) {
	if f.Connect(cmd, nil) != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	list, err := f.Client.Scheduler.Values(cmd.Context())
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	var keys []string
	for _, v := range list {
		for _, s := range append([]*api.ValueStatus{v.Value}, v.DerivedValues...) {
			for _, key := range slices.Compact([]string{f.Models.ShortKey(s.Key), s.Key}) {
				if strings.HasPrefix(key, prefix) && !slices.Contains(args, key) {
					keys = append(keys, key)
					break
				}
			}
		}
	}
	return keys, cobra.ShellCompDirectiveNoFileComp
}

// StartingWith returns the words that start with a prefix.
func StartingWith(prefix string, words ...string) (list []string) {
	for _, word := range words {
		if strings.HasPrefix(word, prefix) {
			list = append(list, word)
		}
	}
	return list
}
