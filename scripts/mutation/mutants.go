package main

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"strconv"
	"strings"
)

// mutant is one change of one file.
type mutant struct {
	file       string // absolute path
	line       int
	start, end int // the bytes that text replaces
	text       string
	kind       string // what was changed, in a word or two
	before     string // the line, trimmed
	after      string // the changed line
}

func (m mutant) String() string {
	return fmt.Sprintf("%s:%d: %s: %s  =>  %s", m.file, m.line, m.kind, m.before, m.after)
}

// apply returns the file with the change made.
func (m mutant) apply(src []byte) []byte {
	return []byte(string(src[:m.start]) + m.text + string(src[m.end:]))
}

// finder collects the mutants of one file.
type finder struct {
	fset  *token.FileSet
	path  string
	src   []byte
	lines []string
	found []mutant
}

// mutantsOf returns all mutants of a file, in the order of the source.
func mutantsOf(path string, src []byte) ([]mutant, error) {
	fset := token.NewFileSet()
	file, err := parser.ParseFile(fset, path, src, parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	f := &finder{fset: fset, path: path, src: src, lines: strings.Split(string(src), "\n")}
	for _, d := range file.Decls {
		if g, ok := d.(*ast.GenDecl); ok && g.Tok == token.IMPORT {
			continue
		}
		f.walk(d)
	}
	return f.found, nil
}

func (f *finder) walk(root ast.Node) {
	var results []*ast.FieldList // of the functions around the node
	var stack []ast.Node
	ast.Inspect(root, func(n ast.Node) bool {
		if n == nil {
			switch stack[len(stack)-1].(type) {
			case *ast.FuncDecl, *ast.FuncLit:
				results = results[:len(results)-1]
			}
			stack = stack[:len(stack)-1]
			return true
		}
		stack = append(stack, n)
		switch n := n.(type) {
		case *ast.FuncDecl:
			results = append(results, n.Type.Results)
		case *ast.FuncLit:
			results = append(results, n.Type.Results)
		case *ast.ReturnStmt:
			f.returned(n, results[len(results)-1])
		case *ast.BlockStmt:
			f.statements(n.List)
		case *ast.CaseClause:
			f.statements(n.Body)
		case *ast.CommClause:
			f.statements(n.Body)
		default:
			f.expression(n)
		}
		return true
	})
}

// add adds a mutant in which the bytes of n are replaced.
func (f *finder) add(kind string, from, to token.Pos, text string) {
	p := f.fset.Position(from)
	m := mutant{
		file: f.path, line: p.Line, start: p.Offset, end: f.fset.Position(to).Offset,
		text: text, kind: kind, before: strings.TrimSpace(f.lines[p.Line-1]),
	}
	begin := p.Offset - (p.Column - 1)
	line, _, _ := bytes.Cut(m.apply(f.src)[begin:], []byte("\n"))
	m.after = string(bytes.TrimSpace(line))
	f.found = append(f.found, m)
}

func (f *finder) textOf(n ast.Node) string {
	return string(f.src[f.fset.Position(n.Pos()).Offset:f.fset.Position(n.End()).Offset])
}

// statements adds mutants that leave out one statement each. The statement is put into an
// if false, so that the variables in it are still used.
func (f *finder) statements(list []ast.Stmt) {
	for _, s := range list {
		switch s := s.(type) {
		case *ast.AssignStmt:
			if s.Tok == token.DEFINE {
				continue
			}
		case *ast.ExprStmt, *ast.IncDecStmt, *ast.DeferStmt, *ast.GoStmt, *ast.SendStmt, *ast.BranchStmt:
		default:
			continue
		}
		f.add("removed statement", s.Pos(), s.End(), "if false { "+f.textOf(s)+" }")
	}
}

// returned adds mutants that return nil instead of an error.
func (f *finder) returned(r *ast.ReturnStmt, results *ast.FieldList) {
	if results == nil || len(r.Results) != results.NumFields() || len(r.Results) == 0 {
		return
	}
	kind, ok := results.List[len(results.List)-1].Type.(*ast.Ident)
	last := r.Results[len(r.Results)-1]
	if value, named := last.(*ast.Ident); !ok || kind.Name != "error" || named && value.Name == "nil" {
		return
	}
	f.add("error returned as nil", last.Pos(), last.End(), "nil")
}

// swapped has the replacement of each operator.
var swapped = map[token.Token]token.Token{
	token.LSS: token.LEQ, token.LEQ: token.LSS, token.GTR: token.GEQ, token.GEQ: token.GTR,
	token.EQL: token.NEQ, token.NEQ: token.EQL,
	token.LAND: token.LOR, token.LOR: token.LAND,
	token.ADD: token.SUB, token.SUB: token.ADD,
	token.ADD_ASSIGN: token.SUB_ASSIGN, token.SUB_ASSIGN: token.ADD_ASSIGN,
	token.INC: token.DEC, token.DEC: token.INC,
}

func (f *finder) swap(at token.Pos, op token.Token) {
	if other, ok := swapped[op]; ok {
		f.add(op.String()+" to "+other.String(), at, at+token.Pos(len(op.String())), other.String())
	}
}

func (f *finder) expression(n ast.Node) {
	switch n := n.(type) {
	case *ast.IfStmt:
		f.negate(n.Cond)
	case *ast.ForStmt:
		f.negate(n.Cond)
	case *ast.BinaryExpr:
		if !isString(n.X) && !isString(n.Y) || n.Op != token.ADD {
			f.swap(n.OpPos, n.Op)
		}
	case *ast.AssignStmt:
		f.swap(n.TokPos, n.Tok)
	case *ast.IncDecStmt:
		f.swap(n.TokPos, n.Tok)
	case *ast.BasicLit:
		// Octal numbers are file modes, where one more is not a mode.
		if v, err := strconv.ParseInt(n.Value, 10, 64); err == nil && n.Kind == token.INT {
			f.add("constant + 1", n.Pos(), n.End(), strconv.FormatInt(v+1, 10))
		}
	case *ast.Ident:
		switch n.Name {
		case "true":
			f.add("true to false", n.Pos(), n.End(), "false")
		case "false":
			f.add("false to true", n.Pos(), n.End(), "true")
		}
	}
}

// negate adds a mutant with the condition negated, except for == and !=, which are swapped
// as operators.
func (f *finder) negate(cond ast.Expr) {
	if b, ok := cond.(*ast.BinaryExpr); cond == nil || ok && (b.Op == token.EQL || b.Op == token.NEQ) {
		return
	}
	f.add("condition negated", cond.Pos(), cond.End(), "!("+f.textOf(cond)+")")
}

func isString(e ast.Expr) bool {
	lit, ok := e.(*ast.BasicLit)
	return ok && lit.Kind == token.STRING
}
