package template

import (
	"errors"
	"fmt"
	"strings"

	controls "github.com/nikolalohinski/gonja/v2/builtins/control_structures"
	"github.com/nikolalohinski/gonja/v2/exec"
	"github.com/nikolalohinski/gonja/v2/nodes"
	"github.com/nikolalohinski/gonja/v2/tokens"

	"batch.example/batch/internal/lazy"
)

// watch wraps output expressions, so that they report where they fail.
func watch(list []nodes.Node) {
	for i, node := range list {
		if n, ok := node.(*nodes.Output); ok {
			list[i] = &nodes.ControlStructureBlock{Location: n.Start, Name: "output", ControlStructure: &watched{output: n, offset: n.Start.Pos}}
		}
	}
}

// watchTag wraps a tag and, where they are accessible, the output expressions in it.
func watchTag(tag nodes.ControlStructure, offset int) *watched {
	var bodies []*nodes.Wrapper
	switch t := tag.(type) {
	case *controls.IfControlStructure:
		bodies = t.Wrappers
	case *controls.ForControlStructure:
		bodies = []*nodes.Wrapper{t.BodyWrapper, t.EmptyWrapper}
	case *controls.MacroControlStructure:
		bodies = []*nodes.Wrapper{t.Wrapper}
	}
	for _, body := range bodies {
		if body != nil {
			watch(body.Nodes)
		}
	}
	return &watched{tag: tag, offset: offset}
}

// maxLevels bounds macros and loops that call themselves: a full stack would end the
// process.
const maxLevels = 1000

// levelsVar is the variable that holds the levels of a rendering. No template can name it.
const levelsVar = "\x00levels"

// levels counts the parts of a template that are being executed, each within the one
// before.
type levels struct {
	n       int
	last    *mistake
	tooMany *mistake // which ends the rendering, also where a filter accepts failed values
}

// watched is a part of a template. When it fails, it searches for the expression in it
// that failed.
type watched struct {
	tag    nodes.ControlStructure // or
	output *nodes.Output
	offset int
}

// Position implements nodes.Node.
func (w *watched) Position() *tokens.Token {
	if w.tag != nil {
		return w.tag.Position()
	}
	return w.output.Position()
}

// String implements nodes.Node.
func (w *watched) String() string { return "" }

// Execute implements the engine's interface of a tag.
func (w *watched) Execute(r *exec.Renderer, block *nodes.ControlStructureBlock) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = w.blame(r, &mistake{text: panicked(p)})
		}
	}()
	known, _ := r.Environment.Context.Get(levelsVar)
	level, _ := known.(*levels)
	if level.n++; level.n > maxLevels {
		level.tooMany = &mistake{offset: w.offset, text: fmt.Sprintf("a macro or a loop calls itself more than %d levels deep", maxLevels)}
	}
	defer func() {
		if level.n--; level.tooMany != nil {
			err = level.tooMany
		}
	}()
	if level.tooMany != nil {
		return nil
	}
	if w.output != nil {
		_, err = r.Visit(w.output)
	} else if tag, ok := w.tag.(exec.ControlStructure); ok {
		err = tag.Execute(r, block)
	}
	if err == nil {
		return nil
	}
	if m := mistakeIn(err); m != nil {
		level.last = m
		return m
	}
	if level.last != nil && strings.HasSuffix(err.Error(), level.last.text) { // the engine keeps only the text of what fails in a macro
		return level.last
	}
	_, isBreak := errors.AsType[*controls.LoopBreakError](err)
	_, isContinue := errors.AsType[*controls.LoopContinueError](err)
	if isBreak || isContinue {
		return err
	}
	level.last = w.blame(r, reason(err))
	return level.last
}

// blame sets the place of a mistake to the innermost expression that fails.
func (w *watched) blame(r *exec.Renderer, m *mistake) *mistake {
	var expressions []nodes.Node
	switch t := w.tag.(type) {
	case nil:
		expressions = []nodes.Node{w.output.Condition, w.output.Expression, w.output.Alternative}
	case *controls.IfControlStructure:
		for _, c := range t.Conditions {
			expressions = append(expressions, c)
		}
	case *controls.ForControlStructure:
		expressions = []nodes.Node{t.ObjectEvaluator}
	default: // its parts are not accessible
		m.offset, m.below = w.offset, true
		return m
	}
	for _, e := range expressions {
		if found := culprit(r, e); found != nil {
			return found
		}
	}
	m.offset = w.offset
	return m
}

var (
	unknownName = lazy.Regexp(`Unable to evaluate name "([^"]*)"`)
	missingItem = lazy.Regexp(`(?:item|attribute) '?'?(.*?)'?'? not found$`)
	invalidCall = lazy.Regexp(`(?s)^invalid call to (?:method|filter|test|function) '[^']*'(?: of .*)?: (.*)$`)
	noMethod    = lazy.Regexp(`^unknown method '([^']*)'`)
)

// reason returns the mistake for an engine error.
func reason(err error) *mistake {
	text := innermost(err).Error()
	if name := unknownName().FindStringSubmatch(text); name != nil {
		return &mistake{unknown: name[1], text: fmt.Sprintf("unknown variable %q", name[1])}
	}
	text = strings.TrimPrefix(text, "unable to execute template: ")
	if call := invalidCall().FindStringSubmatch(text); call != nil { // the value, which may be long, is left out
		text = call[1]
	}
	if method := noMethod().FindStringSubmatch(text); method != nil {
		text = fmt.Sprintf("there is no method %q", method[1])
	}
	return &mistake{text: plain(text)}
}

// innermost unwraps an error as far as possible, even if it is wrapped as a value.
func innermost(err error) error {
	for {
		next := errors.Unwrap(err)
		if v, ok := err.(*exec.Value); ok {
			next, _ = v.Interface().(error)
		}
		if next == nil {
			return err
		}
		err = next
	}
}

// mistakeIn returns the mistake that an error holds, or nil.
func mistakeIn(err error) *mistake {
	m, _ := innermost(err).(*mistake)
	return m
}

// panicked returns why the engine panicked.
func panicked(p any) string {
	if text := fmt.Sprint(p); strings.Contains(text, "divide by zero") {
		return "division by zero"
	}
	return "this cannot be evaluated"
}
