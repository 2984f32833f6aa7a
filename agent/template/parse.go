package template

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/nikolalohinski/gonja/v2/builtins"
	jinja "github.com/nikolalohinski/gonja/v2/config"
	"github.com/nikolalohinski/gonja/v2/exec"
	"github.com/nikolalohinski/gonja/v2/nodes"
	"github.com/nikolalohinski/gonja/v2/parser"
	"github.com/nikolalohinski/gonja/v2/tokens"

	"batch.example/batch/internal/lazy"
	"batch.example/batch/internal/near"
)

// parse is the state of parsing one template.
type parse struct {
	source string
	tokens []*tokens.Token
	open   []string // tags that are not closed yet
}

func newParse(source string) *parse {
	p := &parse{source: source}
	for s := tokens.LexAll(source, jinja.New()); ; s.Next() {
		p.tokens = append(p.tokens, s.Current())
		if s.End() {
			return p
		}
	}
}

// names returns every name in the template, once.
func (p *parse) names() (list []string) {
	for _, tok := range p.tokens {
		if tok.Type == tokens.Name && !slices.Contains(list, tok.Val) {
			list = append(list, tok.Val)
		}
	}
	return list
}

// The engine does not list the names that it knows. The tags are all that a template may
// use: trans is not among them, because mini-swe-agent's Jinja does not have it either.
// The filters and tests are common ones, for suggestions.
var (
	tagNames    = strings.Fields("autoescape block break call continue do elif else endfor endif endset extends filter for from if import include macro raw set with")
	filterNames = strings.Fields("abs attr batch capitalize center count default dictsort escape filesizeformat first float format groupby indent int items join last " +
		"length list lower map max min pprint random reject replace reverse round safe select slice sort string striptags sum title tojson trim truncate unique upper urlencode wordcount wordwrap")
	testNames = strings.Fields("boolean callable defined divisibleby eq even false float ge gt in integer iterable le lower lt mapping ne none number odd sameas sequence string true undefined upper")
)

// checkNames refuses filters and tests that do not exist. The engine would report them
// only when it reaches them.
func (p *parse) checkNames() *mistake {
	for i, tok := range p.tokens {
		before := func(n int) tokens.Type { return p.tokens[max(0, i-n)].Type }
		if tok.Type != tokens.Name || i == 0 {
			continue
		}
		switch {
		case before(1) == tokens.Pipe && !filters.Exists(tok.Val):
			return &mistake{offset: tok.Pos, text: fmt.Sprintf("unknown filter %q", tok.Val), hint: near.Hint(near.Name(tok.Val, filterNames), "")}
		case (before(1) == tokens.Is || before(1) == tokens.Not && before(2) == tokens.Is) && !builtins.Tests.Exists(tok.Val):
			return &mistake{offset: tok.Pos, text: fmt.Sprintf("unknown test %q", tok.Val), hint: near.Hint(near.Name(tok.Val, testNames), "")}
		}
	}
	return nil
}

// tags returns the engine's tags of tagNames, wrapped to report where they fail.
func (p *parse) tags() *exec.ControlStructureSet {
	set := map[string]parser.ControlStructureParser{}
	for _, name := range tagNames {
		inner, ok := builtins.ControlStructures.Get(name)
		if !ok {
			continue
		}
		set[name] = func(doc, args *parser.Parser) (nodes.ControlStructure, error) {
			begin, end := p.tagBefore(doc.Current())
			if slices.Contains([]string{"include", "import", "extends", "from"}, name) {
				return nil, &mistake{offset: begin, text: fmt.Sprintf("{%% %s %%} has no other template to read", name)}
			}
			p.open = append(p.open, name)
			tag, err := inner(doc, args)
			if err != nil {
				return nil, p.inTag(name, begin, end, args, err)
			}
			p.open = p.open[:len(p.open)-1]
			return watchTag(tag, begin), nil
		}
	}
	return exec.NewControlStructureSet(set)
}

// tagBefore returns where the tag before a token begins and ends.
func (p *parse) tagBefore(next *tokens.Token) (begin, end int) {
	for _, tok := range p.tokens {
		if tok.Pos >= next.Pos && next.Type != tokens.EOF {
			break
		}
		switch tok.Type {
		case tokens.BlockBegin:
			begin = tok.Pos
		case tokens.BlockEnd:
			end = tok.Pos
		}
	}
	return begin, end
}

// inTag gives an engine error in a tag a place if it does not have one yet.
func (p *parse) inTag(name string, begin, end int, args *parser.Parser, err error) error {
	if placed, ok := errors.AsType[*mistake](err); ok {
		return placed
	}
	if strings.Contains(err.Error(), "Unexpected EOF") {
		return &mistake{offset: begin, text: fmt.Sprintf("{%% %s %%} is not closed: {%% end%s %%} is missing", name, name)}
	}
	if syntax, ok := errors.AsType[*parser.SyntaxError](err); ok && syntax.Line > 0 {
		return p.syntax(syntax)
	}
	next := args.Current()
	if next == nil || next.Type == tokens.EOF {
		return &mistake{offset: end, text: fmt.Sprintf("{%% %s %%} is not complete", name)}
	}
	return &mistake{offset: next.Pos, text: fmt.Sprintf("unexpected %q in {%% %s %%}", next.Val, name)}
}

// explain returns in plain words why the engine cannot parse the template.
func (p *parse) explain(err error) *mistake {
	if last := p.tokens[len(p.tokens)-1]; last.Type == tokens.Error { // where the engine stopped reading
		return p.unreadable(last)
	}
	if m, ok := errors.AsType[*mistake](err); ok {
		return m
	}
	if syntax, ok := errors.AsType[*parser.SyntaxError](err); ok {
		return p.syntax(syntax)
	}
	return p.incomplete()
}

// incomplete is a mistake for which the engine gives no place. Its place is the last
// expression or tag that the engine began.
func (p *parse) incomplete() *mistake {
	m := &mistake{text: "an expression is not complete"}
	for _, tok := range p.tokens {
		if tok.Type == tokens.VariableBegin || tok.Type == tokens.BlockBegin {
			m.offset = tok.Pos
		}
	}
	return m
}

var expectedGot = lazy.Regexp(`expected "(.+)", got (?:"(.+)"|EOF)`)

// unreadable explains a token that cannot be read.
func (p *parse) unreadable(tok *tokens.Token) *mistake {
	m := &mistake{offset: min(tok.Pos, len(p.source)), text: plain(tok.Val)}
	if words := expectedGot().FindStringSubmatch(tok.Val); words != nil {
		m.text = fmt.Sprintf("expected %q, found the end of the template", words[1])
		if words[2] != "" {
			m.offset-- // the engine has read it
			m.text = fmt.Sprintf("expected %q, found %q", words[1], words[2])
		}
		return m
	}
	begun := p.incomplete().offset
	switch {
	case strings.HasPrefix(tok.Val, "Unable to find raw"):
		m.text = "{% raw %} is not closed: {% endraw %} is missing"
	case tok.Val == "unclosed comment":
		m.offset, m.text = strings.LastIndex(p.source, "{#"), "the comment is not closed: #} is missing"
	case strings.HasPrefix(tok.Val, "Unexpected"):
		m.offset, m.text = m.offset-1, strings.Replace(m.text, "unexpected delimiter", "unexpected", 1)
	default: // the text at which the engine gave up
		if !strings.Contains(p.source[begun:], "}}") && !strings.Contains(p.source[begun:], "%}") {
			return &mistake{offset: begun, text: "the expression is not closed"}
		}
		m.text = "unexpected characters in an expression"
	}
	return m
}

var (
	noTag   = lazy.Regexp(`^ControlStructure '(.*)' not found`)
	delimit = lazy.Regexp(`^'(.*)' expected here|^Expected end of block "(.*)"`)
)

// syntax explains an error of the engine's parser.
func (p *parse) syntax(e *parser.SyntaxError) *mistake {
	m := &mistake{offset: len(p.source), text: plain(e.Message)}
	if e.Line > 0 {
		starts := tokens.PrecomputeLineOffsets(p.source)
		m.offset = starts[min(e.Line, len(starts))-1] + e.Column - 1
	}
	found := "the end of the template"
	if e.Raw != "" {
		found = fmt.Sprintf("%q", e.Raw)
	}
	switch lower := strings.ToLower(e.Message); {
	case noTag().MatchString(e.Message):
		return p.unknownTag(m.offset, noTag().FindStringSubmatch(e.Message)[1])
	case delimit().MatchString(e.Message):
		words := delimit().FindStringSubmatch(e.Message)
		m.text = fmt.Sprintf("expected %q, found %s", words[1]+words[2], found)
	case strings.Contains(lower, "expected an expression"), strings.Contains(lower, "expected either a number"):
		m.text = "expected a value, found " + found
	case strings.HasPrefix(lower, "unbalanced"):
		m.text = fmt.Sprintf("%s is not closed", found)
	case strings.HasPrefix(lower, "filter name"):
		m.text = "expected the name of a filter, found " + found
	case strings.HasPrefix(lower, "expected name or integer"):
		m.text = "expected a name, found " + found
	case strings.HasPrefix(lower, "expected a controlstructure name"):
		m.text = "expected the name of a tag, such as if, found " + found
	}
	return m
}

// unknownTag refuses a tag that does not exist or is not allowed at this place.
func (p *parse) unknownTag(offset int, name string) *mistake {
	m := &mistake{offset: offset, text: fmt.Sprintf("unknown tag {%% %s %%}", name), hint: near.Hint(near.Name(name, tagNames), "")}
	opens, closes := strings.CutPrefix(name, "end")
	switch {
	case name == "else" || name == "elif":
		m.text, m.hint = fmt.Sprintf("{%% %s %%} without an open {%% if %%}", name), ""
	case closes && len(p.open) > 0 && slices.Contains(tagNames, opens):
		m.text, m.hint = fmt.Sprintf("{%% %s %%} found, expected {%% end%s %%}", name, p.open[len(p.open)-1]), ""
	case closes && slices.Contains(tagNames, opens):
		m.text, m.hint = fmt.Sprintf("{%% %s %%} without an open {%% %s %%}", name, opens), ""
	}
	return m
}

// plain removes the engine's internal terms from its error text.
func plain(text string) string {
	text = strings.TrimSuffix(text, ".")
	text = strings.NewReplacer("controlStructure", "tag", "ControlStructure", "tag").Replace(text)
	if text == "" {
		return "a syntax error"
	}
	return strings.ToLower(text[:1]) + text[1:]
}
