package main

import (
	"bytes"
	"fmt"
	"strings"
)

// record is a type that a test reads and writes, with times, bytes and texts instead of what JSON has.
type record struct {
	name, doc string
	first     string   // fields that no view has
	views     []string // what the port returns of it; the first one has all fields
	body      string   // what the port takes
}

var records = []record{
	{name: "Header", doc: "Is a header of a record.", views: []string{"HeaderView"}, body: "HeaderBody"},
	{
		name: "Record", first: "Topic string\n", views: []string{"RecordView", "ProducedView"}, body: "RecordBody",
		doc: "Is a stored record, or one to store. A nil key or value is null in Kafka. `Transaction` is open, committed " +
			"or aborted, and empty if it was written in none.",
	},
}

func (d *openAPI) writeRecord(out *bytes.Buffer, r *record) {
	fmt.Fprintf(out, "\n%stype %s struct {\n%s", documented(r.name, r.doc), r.name, r.first)
	first := d.Components.Schemas.get(r.views[0])
	for _, property := range first.Properties {
		fmt.Fprintf(out, "%s %s\n", pascal(property.name), d.recordType(property.name, &property.value))
	}
	out.WriteString("}\n")
	for _, view := range r.views {
		schema := d.Components.Schemas.get(view)
		fmt.Fprintf(out, "\nfunc (r *%s) set%s(view %s) {\n", r.name, view, view)
		for _, property := range schema.Properties {
			out.WriteString(d.fromView(property.name, &property.value))
		}
		out.WriteString("}\n")
	}
	body := d.Components.Schemas.get(r.body)
	fmt.Fprintf(out, "\nfunc (r *%s) body() (body %s) {\n", r.name, r.body)
	for _, property := range body.Properties {
		out.WriteString(d.toBody(property.name, &property.value))
	}
	out.WriteString("return body\n}\n")
}

// recordNamed returns the record that has a view or body with this name, or nil.
func recordNamed(schema string) *record {
	for i, r := range records {
		if schema == r.views[0] || schema == r.body {
			return &records[i]
		}
	}
	return nil
}

func (d *openAPI) recordType(name string, s *schema) string {
	kind := d.goType(name, s)
	if element := recordNamed(strings.TrimPrefix(kind, "[]")); element != nil {
		return "[]" + element.name
	}
	switch {
	case kind == "*BytesView":
		return "[]byte"
	case name == "timestamp":
		return "time.Time"
	}
	return plainType(name, kind)
}

// fromView returns the statement that takes a field from a view.
func (d *openAPI) fromView(name string, s *schema) string {
	field, kind := pascal(name), d.goType(name, s)
	switch plain := d.recordType(name, s); {
	case plain == "[]byte":
		return fmt.Sprintf("if view.%s != nil && view.%s.Base64 != nil {\nr.%s, _ = base64.StdEncoding.DecodeString(*view.%s.Base64)\n}\n",
			field, field, field, field)
	case plain == "time.Time":
		return fmt.Sprintf("r.%s = time.UnixMilli(view.%s)\n", field, field)
	case recordNamed(strings.TrimPrefix(kind, "[]")) != nil:
		return fmt.Sprintf("for _, one := range view.%s {\nvar element %s\nelement.set%s(one)\nr.%s = append(r.%s, element)\n}\n",
			field, plain[2:], kind[2:], field, field)
	case strings.HasPrefix(kind, "*"):
		return fmt.Sprintf("if view.%s != nil {\nr.%s = *view.%s\n}\n", field, field, field)
	case plain != kind:
		return fmt.Sprintf("r.%s = %s(view.%s)\n", field, plain, field)
	}
	return fmt.Sprintf("r.%s = view.%s\n", field, field)
}

// toBody returns the statement that gives a body a field. A field whose zero is a value is left to the caller.
func (d *openAPI) toBody(name string, s *schema) string {
	field, kind := pascal(name), d.goType(name, s)
	switch {
	case kind == "any":
		return fmt.Sprintf("if r.%s != nil {\nbody.%s = BytesBody{Base64: Ptr(base64.StdEncoding.EncodeToString(r.%s))}\n}\n", field, field, field)
	case name == "timestamp":
		return fmt.Sprintf("if !r.%s.IsZero() {\nbody.%s = Ptr(r.%s.UnixMilli())\n}\n", field, field, field)
	case recordNamed(strings.TrimPrefix(kind, "[]")) != nil:
		return fmt.Sprintf("for _, one := range r.%s {\nbody.%s = append(body.%s, one.body())\n}\n", field, field, field)
	case strings.HasPrefix(kind, "*"):
		return ""
	}
	return fmt.Sprintf("body.%s = r.%s\n", field, field)
}
