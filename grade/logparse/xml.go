package logparse

import (
	"encoding/xml"
	"errors"
	"fmt"
	"strings"
)

// xmlHandler gets each element without a namespace, with its attributes without one. Elements in a
// namespace have the tag "".
type xmlHandler interface {
	startElement(tag string, attr map[string]string) error
	endElement(tag string)
}

// scanXML reads text, which must be exactly one element. In a well-formed text it finds the same as
// Python's ElementTree, and malformed text is an error in both. The exceptions are details that
// encoding/xml and the checks here accept, such as no space between two attributes, or a control
// character in a comment.
func scanXML(text string, h xmlHandler) error {
	s := xmlScanner{text: text, d: xml.NewDecoder(strings.NewReader(text)), handler: h}
	s.spaces = map[string]bool{"xmlns": true, "http://www.w3.org/XML/1998/namespace": true}
	for {
		err := s.next()
		end := int(s.d.InputOffset())
		if err == nil && s.depth == 0 && end < len(text) {
			err = errors.New("text after the end")
		}
		if err != nil {
			return fmt.Errorf("the XML report, byte %d: %w", end+1, err)
		}
		if s.depth == 0 {
			return nil
		}
	}
}

type xmlScanner struct {
	text    string
	d       *xml.Decoder
	handler xmlHandler
	depth   int
	spaces  map[string]bool // all declared namespaces
}

var errXMLMarkup = errors.New("not well formed")

// next reads one piece of markup or text.
func (s *xmlScanner) next() error {
	at := s.d.InputOffset()
	token, err := s.d.Token()
	if err != nil {
		return err
	}
	switch t := token.(type) {
	case xml.Directive:
		return errXMLMarkup
	case xml.ProcInst:
		if strings.EqualFold(t.Target, "xml") || strings.Contains(t.Target, ":") {
			return errXMLMarkup
		}
	case xml.StartElement:
		s.depth++
		attr, err := s.attributes(t.Attr, s.text[at:s.d.InputOffset()])
		if err != nil {
			return err
		}
		tag, err := s.tag(t.Name)
		if err != nil {
			return err
		}
		return s.handler.startElement(tag, attr)
	case xml.EndElement:
		s.depth--
		tag, err := s.tag(t.Name)
		s.handler.endElement(tag)
		return err
	}
	return nil
}

// tag returns a name's local part, or "" if it has a namespace. For an undeclared prefix,
// encoding/xml returns the prefix as the namespace.
func (s *xmlScanner) tag(name xml.Name) (string, error) {
	switch {
	case strings.IndexByte(name.Local, ':') >= 0, name.Space != "" && !s.spaces[name.Space]:
		return "", errXMLMarkup
	case name.Space != "":
		return "", nil
	}
	return name.Local, nil
}

// xmlBlanks replaces white space in the values of attributes, except in character references.
var xmlBlanks = strings.NewReplacer("\r\n", " ", "\t", " ", "\r", " ", "\n", " ")

// attributes returns an element's attributes, except namespace declarations and attributes in a
// namespace. raw is the text of the tag.
func (s *xmlScanner) attributes(all []xml.Attr, raw string) (map[string]string, error) {
	for _, a := range all {
		switch {
		case a.Name.Space != "xmlns" && a.Name.Local != "xmlns":
		case a.Name.Space != "" && a.Value == "":
			return nil, errXMLMarkup
		default:
			s.spaces[a.Value] = true
		}
	}
	if strings.ContainsAny(raw, "\t\r\n") {
		token, err := xml.NewDecoder(strings.NewReader(xmlBlanks.Replace(raw))).RawToken()
		if err != nil {
			return nil, err
		}
		for i, a := range token.(xml.StartElement).Attr {
			all[i].Value = a.Value
		}
	}
	attr := make(map[string]string, len(all))
	for _, a := range all {
		name, err := s.tag(a.Name)
		if err != nil {
			return nil, err
		}
		if _, twice := attr[name]; twice {
			return nil, fmt.Errorf("the attribute %s is there twice", name)
		}
		if name != "" && name != "xmlns" {
			attr[name] = a.Value
		}
	}
	return attr, nil
}
