package filedb

import (
	"errors"
	"fmt"
	"slices"
)

// maxLogged bounds how many problems of one kind are logged at once.
const maxLogged = 20

// once keeps problems from being logged again until they are gone.
type once map[string]bool

// first tells whether a problem is new.
func (o *once) first(problem string) bool {
	if (*o)[problem] {
		return false
	}
	if *o == nil {
		*o = once{}
	}
	(*o)[problem] = true
	return true
}

// keep forgets all problems but those that there are now.
func (o *once) keep(now []string) {
	for problem := range *o {
		if !slices.Contains(now, problem) {
			delete(*o, problem)
		}
	}
}

// report tells the log and the health tree what is wrong with the files.
func (f *follower) report(changed []string) {
	errs := f.reader.errs()
	shown := errs[:min(len(errs), maxLogged)]
	var texts []string
	for _, err := range shown {
		texts = append(texts, err.Error())
		if f.errors.first(err.Error()) {
			f.log.Warn("a file has an error; what it said before stays in effect", "error", err)
		}
	}
	f.errors.keep(texts)
	if len(errs) > 0 {
		f.p.Health.Degraded(plural(len(errs), "error")+" in files", errors.Join(errs[:min(len(errs), 5)]...))
		return
	}
	f.p.Health.OK(plural(len(f.reader.files), "file"))
	for _, path := range changed {
		if file := f.reader.files[path]; file != nil && file.foreign > 0 {
			f.log.Debug("entries of other agents are left alone", "file", path, "entries", file.foreign)
		}
	}
}

func (f *follower) reportConflicts(conflicts []conflict) {
	var texts []string
	for _, c := range conflicts[:min(len(conflicts), maxLogged)] {
		text := c.key + " " + c.loser + " " + c.winner
		texts = append(texts, text)
		if f.conflicts.first(text) {
			f.log.Warn("two files have a value for the same key", "key", c.key, "used", c.winner, "ignored", c.loser)
		}
	}
	f.conflicts.keep(texts)
	if n := len(conflicts) - maxLogged; n > 0 {
		f.log.Warn("more keys have values in two files", "keys", n)
	}
}

func plural(n int, thing string) string {
	if n != 1 {
		thing += "s"
	}
	return fmt.Sprint(n, " ", thing)
}
