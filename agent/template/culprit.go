package template

import (
	"fmt"
	"reflect"
	"slices"

	"github.com/nikolalohinski/gonja/v2/exec"
	"github.com/nikolalohinski/gonja/v2/nodes"

	"batch.example/batch/internal/near"
	"batch.example/batch/internal/printable"
)

// culprit returns why an expression fails, with the place of the innermost part that
// fails; nil if it does not fail.
func culprit(r *exec.Renderer, e nodes.Node) *mistake {
	if e == nil || reflect.ValueOf(e).IsNil() {
		return nil
	}
	_, failed := eval(r, e)
	if failed == nil {
		return nil
	}
	if f, ok := e.(*nodes.FilteredExpression); ok {
		return inFilters(r, f)
	}
	for _, part := range parts(e) {
		if found := culprit(r, part); found != nil {
			return found
		}
	}
	failed.offset = offsetOf(e)
	if of := target(e); of != nil {
		missingMember(r, e, of, failed)
	}
	return failed
}

// eval evaluates an expression and returns why it fails.
func eval(r *exec.Renderer, e nodes.Node) (v *exec.Value, failed *mistake) {
	defer func() {
		if p := recover(); p != nil {
			failed = &mistake{text: panicked(p)}
		}
	}()
	v = r.Eval(e)
	if v.IsError() {
		return v, reason(v)
	}
	return v, nil
}

// parts returns the expressions that are evaluated for e, in order.
func parts(e nodes.Node) (list []nodes.Node) {
	switch n := e.(type) {
	case *nodes.BinaryExpression:
		return []nodes.Node{n.Left, n.Right}
	case *nodes.UnaryExpression:
		return []nodes.Node{n.Term}
	case *nodes.Negation:
		return []nodes.Node{n.Term}
	case *nodes.TestExpression:
		return append(sorted(n.Test.Args, n.Test.Kwargs), n.Expression)
	case *nodes.GetAttribute:
		return []nodes.Node{n.Node}
	case *nodes.GetItem:
		return []nodes.Node{n.Node, n.Arg}
	case *nodes.GetSlice:
		return []nodes.Node{n.Node, n.Start, n.End, n.Step}
	case *nodes.Call:
		if method, ok := n.Func.(*nodes.GetAttribute); ok {
			list = append(list, method.Node)
		} else {
			list = append(list, n.Func)
		}
		return append(list, sorted(n.Args, n.Kwargs)...)
	case *nodes.Dict:
		for _, p := range n.Pairs {
			list = append(list, p.Key, p.Value)
		}
	}
	return list
}

func sorted(args []nodes.Expression, named map[string]nodes.Expression) (list []nodes.Node) {
	for _, a := range args {
		list = append(list, a)
	}
	for _, a := range named {
		list = append(list, a)
	}
	slices.SortFunc(list, func(a, b nodes.Node) int { return offsetOf(a) - offsetOf(b) })
	return list
}

// inFilters finds what fails in a chain of filters. Some filters accept a failed value.
func inFilters(r *exec.Renderer, f *nodes.FilteredExpression) *mistake {
	before, failed := eval(r, f.Expression)
	for _, filter := range f.Filters {
		for _, arg := range sorted(filter.Args, filter.Kwargs) {
			if found := culprit(r, arg); found != nil {
				return found
			}
		}
		after, now := filtered(r, filter, before)
		if now != nil && failed != nil {
			return culprit(r, f.Expression)
		}
		if now != nil {
			now.offset, now.text = filter.Token.Pos, fmt.Sprintf("filter %q: %s", filter.Name, now.text)
			return now
		}
		before, failed = after, nil
	}
	return nil
}

func filtered(r *exec.Renderer, filter *nodes.FilterCall, in *exec.Value) (v *exec.Value, failed *mistake) {
	defer func() {
		if p := recover(); p != nil {
			failed = &mistake{text: panicked(p)}
		}
	}()
	if v = r.Evaluator().ExecuteFilter(filter, in); v.IsError() {
		return v, reason(v)
	}
	return v, nil
}

// target returns the expression whose member e reads, if it reads one.
func target(e nodes.Node) nodes.Node {
	switch n := e.(type) {
	case *nodes.GetAttribute:
		return n.Node
	case *nodes.GetItem:
		return n.Node
	}
	return nil
}

// missingMember adds to m which member is missing and which ones exist.
func missingMember(r *exec.Renderer, e, of nodes.Node, m *mistake) {
	missing := missingItem().FindStringSubmatch(m.text)
	v, failed := eval(r, of)
	if missing == nil || failed != nil {
		return
	}
	name := missing[1]
	if item, ok := e.(*nodes.GetItem); ok {
		if key, failed := eval(r, item.Arg); failed == nil {
			name = key.String()
		}
	}
	if v.IsList() {
		m.text = fmt.Sprintf("%s[%s] is not there: %s has %s", of, name, of, printable.Count(v.Len(), "item", "items"))
		return
	}
	m.text = fmt.Sprintf("%s has no %q", of, name)
	if !v.IsDict() {
		m.text += ": it is " + kind(v)
		return
	}
	var members []string
	for _, key := range v.Keys() {
		members = append(members, key.String())
	}
	slices.Sort(members)
	label := near.Hint(near.Name(name, members), fmt.Sprintf("%s has:", of)) + " "
	m.hint = printable.Wrapped(label, "  ", members, hintWidth)
}

func kind(v *exec.Value) string {
	switch {
	case v.IsNil():
		return "none"
	case v.IsString():
		return "text"
	case v.IsBool():
		return "true or false"
	case v.IsNumber():
		return "a number"
	case v.IsList():
		return "a list"
	default:
		return "another value"
	}
}

// offsetOf returns the offset at which a person would look for an expression.
func offsetOf(e nodes.Node) int {
	switch n := e.(type) {
	case *nodes.BinaryExpression:
		return n.Operator.Token.Pos
	case *nodes.TestExpression:
		return n.Test.Token.Pos
	case *nodes.GetAttribute:
		return n.Location.Pos + 1
	case *nodes.GetItem:
		return n.Location.Pos + 1
	case *nodes.Call:
		return offsetOf(n.Func)
	}
	if at := e.Position(); at != nil {
		return at.Pos
	}
	return 0
}
