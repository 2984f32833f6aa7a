package dataset

import (
	"errors"

	"github.com/parquet-go/parquet-go"
)

// cell is one value of a leaf column, with the levels that give its place in the row
// (https://github.com/apache/parquet-format, "Nested Encoding").
type cell struct {
	value    any
	rep, def int
}

// assembler combines the leaves of one nested column.
type assembler struct {
	leaves [][]cell // unread cells by leaf, in schema order
	first  int      // column index of leaves[0]
}

var errLevels = errors.New("levels do not fit the schema")

// readNested calls put with each row's value of a list, map, struct or repeated column.
func readNested(col *parquet.Column, chunks []parquet.ColumnChunk, put func(any)) error {
	leaves := leavesOf(col, nil)
	if len(leaves) == 0 {
		return errors.New("a group without columns")
	}
	a := &assembler{leaves: make([][]cell, len(leaves)), first: leaves[0].Index()}
	for i, leaf := range leaves {
		convert := converter(leaf)
		err := eachValue(chunks[leaf.Index()], func(v parquet.Value) {
			c := cell{rep: v.RepetitionLevel(), def: v.DefinitionLevel()}
			if !v.IsNull() {
				c.value = convert(v)
			}
			a.leaves[i] = append(a.leaves[i], c)
		})
		if err != nil {
			return err
		}
	}
	for len(a.leaves[0]) > 0 {
		v, err := a.node(col)
		if err != nil {
			return err
		}
		put(v)
	}
	return nil
}

func leavesOf(col *parquet.Column, out []*parquet.Column) []*parquet.Column {
	if col.Leaf() {
		return append(out, col)
	}
	for _, c := range col.Columns() {
		out = leavesOf(c, out)
	}
	return out
}

// node reads one occurrence of col: nil for null, a list for a repeated column.
func (a *assembler) node(col *parquet.Column) (any, error) {
	head, err := a.peek(col)
	if err != nil {
		return nil, err
	}
	absent := head.def < col.MaxDefinitionLevel()
	switch {
	case col.Repeated() && absent:
		return []any{}, a.skip(col)
	case col.Repeated():
		return a.repeated(col)
	case absent:
		return nil, a.skip(col)
	default:
		return a.content(col)
	}
}

func (a *assembler) repeated(col *parquet.Column) (any, error) {
	list := []any{}
	for {
		v, err := a.content(col)
		if err != nil {
			return nil, err
		}
		list = append(list, v)
		head, err := a.peek(col)
		if err != nil || head.rep != col.MaxRepetitionLevel() {
			return list, nil // the end of the chunk ends the list too
		}
	}
}

func (a *assembler) content(col *parquet.Column) (any, error) {
	if col.Leaf() {
		head, err := a.peek(col)
		if err != nil {
			return nil, err
		}
		return head.value, a.skip(col)
	}
	kind := col.Type().String()
	if inner := col.Columns(); len(inner) == 1 && inner[0].Repeated() && (kind == "LIST" || kind == "MAP") {
		v, err := a.node(inner[0])
		if err != nil {
			return nil, err
		}
		if kind == "MAP" {
			return textMap(v.([]any)), nil
		}
		return unwrapList(inner[0], v.([]any)), nil
	}
	group := make(map[string]any, len(col.Columns()))
	for _, c := range col.Columns() {
		v, err := a.node(c)
		if err != nil {
			return nil, err
		}
		group[c.Name()] = v
	}
	return group, nil
}

// unwrapList removes the wrapper group of each element, which exists only so that an element can be
// null. Two-level lists of older writers have no wrapper.
func unwrapList(inner *parquet.Column, list []any) []any {
	if inner.Leaf() || len(inner.Columns()) != 1 || inner.Name() == "array" {
		return list
	}
	name := inner.Columns()[0].Name()
	for i, v := range list {
		list[i] = v.(map[string]any)[name]
	}
	return list
}

// textMap turns key-value pairs into a map; keys that are not text leave the pairs as they are.
func textMap(pairs []any) any {
	m := make(map[string]any, len(pairs))
	for _, p := range pairs {
		pair, ok := p.(map[string]any)
		if !ok {
			return pairs
		}
		key, ok := pair["key"].(string)
		if !ok {
			return pairs
		}
		m[key] = pair["value"]
	}
	return m
}

// peek returns the next cell of the first leaf under col.
func (a *assembler) peek(col *parquet.Column) (cell, error) {
	for !col.Leaf() {
		if len(col.Columns()) == 0 {
			return cell{}, errLevels
		}
		col = col.Columns()[0]
	}
	left := a.leaves[col.Index()-a.first]
	if len(left) == 0 {
		return cell{}, errLevels
	}
	return left[0], nil
}

// skip drops one cell of every leaf under col.
func (a *assembler) skip(col *parquet.Column) error {
	if col.Leaf() {
		i := col.Index() - a.first
		if len(a.leaves[i]) == 0 {
			return errLevels
		}
		a.leaves[i] = a.leaves[i][1:]
		return nil
	}
	for _, c := range col.Columns() {
		if err := a.skip(c); err != nil {
			return err
		}
	}
	return nil
}
