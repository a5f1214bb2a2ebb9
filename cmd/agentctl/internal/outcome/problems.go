package outcome

import (
	"errors"
	"fmt"
	"strings"

	"github.com/tenuto-dev/tenuto/cmd/agentctl/client"
	"github.com/tenuto-dev/tenuto/cmd/agentctl/internal/cmdutil"
	"github.com/tenuto-dev/tenuto/infra/models"
	"github.com/tenuto-dev/tenuto/plugins/orchestrator/document"
)

// PrintProblems prints all errors in a document in the format of compilers.
func PrintProblems(f *cmdutil.Factory, file string, err error) error {
	if errs := Problems(f, file, err); errs != nil {
		return PrintErrors(f, file, errs)
	}
	return err
}

// Problems returns the errors of a document that the agent refused; nil for another error.
func Problems(f *cmdutil.Factory, file string, err error) (errs []*document.Error) {
	var refused *client.ProblemsError
	if !errors.As(err, &refused) {
		return nil
	}
	for _, p := range refused.Problems {
		field := f.Models.ShortText(p.Path)
		if model, _ := f.Models.NameOf(p.Key); strings.Contains(p.Key, models.InvalidPart) {
			field = model + strings.TrimPrefix(p.Path, p.Key)
		}
		errs = append(errs, &document.Error{Position: document.Position{File: file, Line: p.Line, Column: p.Column}, Field: field, Msg: f.Models.ShortText(p.Error), More: p.More})
	}
	return errs
}

// PrintErrors prints the errors in a document; nil if there are none.
func PrintErrors(f *cmdutil.Factory, file string, errs []*document.Error) error {
	for _, err := range errs {
		fmt.Fprintln(f.Err, err)
	}
	if len(errs) == 0 {
		return nil
	}
	return Refusal(file, Count(errs))
}

// Count returns the number of errors, with those that the last one stands for.
func Count(errs []*document.Error) (n int) {
	for _, e := range errs {
		n += max(1, e.More)
	}
	return n
}

// Refusal is the error of a file whose errors have been printed.
func Refusal(file string, mistakes int) error {
	if mistakes == 1 {
		return fmt.Errorf("%s is refused: 1 mistake", file)
	}
	return fmt.Errorf("%s is refused: %d mistakes", file, mistakes)
}
