package main

import (
	"bytes"
	"fmt"
	"log"
	"slices"
	"strings"
)

// methodTable has the names of methods and types that are made for tests; see clients/README.md.
type methodTable struct {
	NoProgram      string `json:"no_program"`
	Options        []option
	Aliases, Plain []struct{ Name, Of, Doc string }
	Handles        []struct {
		Name, Of, Doc string
		Fields        []string
	}
	Kafka       []method
	Actions     []method
	Fault, Hold []method
}

type method struct {
	Name, Doc, Operation, Result, Without string
	Then                                  string
	Go                                    *string // "" if the package has it by hand
	Arguments                             ordered[string]
	Set, Default                          ordered[any]
	With                                  ordered[ordered[any]]
	Null                                  map[string]string
	By                                    []string
	InVain                                struct{ Reason, Operation string } `json:"in_vain"`
	Pages                                 ordered[[]string]
}

type option struct {
	Name, Kind, Argument, Doc string
	Config                    ordered[string]
}

// receivers have the name of the receiver of a type, and the expression of its cluster.
var receivers = map[string]struct{ name, kafka string }{
	"Kafka": {"k", "k"}, "Fault": {"f", "f.kafka"}, "Hold": {"h", "h.kafka"},
}

func (d *openAPI) methods(table *methodTable) string {
	var out bytes.Buffer
	out.WriteString("import (\n\"cmp\"\n\"context\"\n\"encoding/base64\"\n\"encoding/json\"\n\"fmt\"\n\"slices\"\n\"time\"\n)\n")
	fmt.Fprintf(&out, "\n// noProgram is the reason why no cluster starts.\nconst noProgram = %q\n", table.NoProgram)
	writeOptions(&out, table.Options)
	for _, alias := range table.Aliases {
		fmt.Fprintf(&out, "\n%stype %s = %s\n", documented(alias.Name, alias.Doc), alias.Name, alias.Of)
	}
	for _, plain := range table.Plain {
		fmt.Fprintf(&out, "\n%stype %s struct {\n", comment(plain.Name+": "+plain.Doc), plain.Name)
		schema := d.Components.Schemas.get(plain.Of)
		for _, property := range schema.Properties {
			kind := plainType(property.name, d.goType(property.name, &property.value))
			fmt.Fprintf(&out, "%s %s `json:%q`\n", pascal(property.name), kind, property.name)
		}
		out.WriteString("}\n")
	}
	for _, handle := range table.Handles {
		fmt.Fprintf(&out, "\n%stype %s struct {\n", documented(handle.Name, handle.Doc), handle.Name)
		of := d.Components.Schemas.get(handle.Of)
		if of.Properties == nil {
			fmt.Fprintf(&out, "*%s\n}\n", handle.Of)
			continue
		}
		for _, name := range handle.Fields {
			property := of.Properties.get(name)
			fmt.Fprintf(&out, "%s %s\n", pascal(name), d.goType(name, &property))
		}
		out.WriteString("\nkafka *Kafka\n}\n")
	}
	for _, record := range records {
		d.writeRecord(&out, &record)
	}
	for _, action := range table.Actions {
		d.writeAction(&out, &action)
	}
	keys := map[string]bool{}
	d.writeMethods(&out, "Kafka", table.Kafka, table, keys)
	d.writeMethods(&out, "Fault", table.Fault, table, keys)
	d.writeMethods(&out, "Hold", table.Hold, table, keys)
	return out.String()
}

// writeOptions writes the options of a start.
func writeOptions(out *bytes.Buffer, table []option) {
	var fields, setters, arguments string
	for _, o := range table {
		field, kind, parameters, set := camel(o.Name), "bool", "", "o.%s = true"
		switch o.Kind {
		case "count":
			kind, parameters, set = "int", "count int", "o.%s = count"
			arguments += fmt.Sprintf("if o.%s > 0 {\nfound = append(found, %q, fmt.Sprint(o.%s))\n}\n", field, o.Argument, field)
		case "values":
			kind, parameters, set = "map[string]string", "key string, value any", "o.%s[key] = fmt.Sprint(value)"
			arguments += fmt.Sprintf("for key, value := range o.%s {\nfound = append(found, %q, key+\"=\"+value)\n}\n", field, o.Argument)
		case "words":
			kind, parameters, set = "[]string", "words ...string", "o.%s = words"
		case "path":
			kind, parameters, set = "string", "path string", "o.%s = path"
			arguments += fmt.Sprintf("if o.%s != \"\" {\nfound = append(found, %q, o.%s)\n}\n", field, o.Argument, field)
		case "flag":
			if o.Argument != "" {
				arguments += fmt.Sprintf("if o.%s {\nfound = append(found, %q)\n}\n", field, o.Argument)
			}
		}
		fields += field + " " + kind + "\n"
		set = fmt.Sprintf(set, field)
		for _, entry := range o.Config {
			set += fmt.Sprintf("\no.config[%q] = %q", entry.name, entry.value)
		}
		name := "With" + pascal(o.Name)
		setters += fmt.Sprintf("\n%sfunc %s(%s) Option {\nreturn func(o *options) {\n%s\n}\n}\n",
			documented(name, o.Doc), name, parameters, set)
	}
	fmt.Fprintf(out, "\n// An Option configures a cluster that starts.\ntype Option func(*options)\n\ntype options struct {\n%s}\n%s", fields, setters)
	fmt.Fprintf(out, "\n// arguments returns the arguments of the program.\nfunc (o *options) arguments() (found []string) {\n%sreturn found\n}\n", arguments)
}

// documented returns a comment that begins with the name, and goes on with the verb.
func documented(name, doc string) string {
	return comment(name + " " + strings.ToLower(doc[:1]) + doc[1:])
}

// plainType returns the type of a field whose zero value stands for null.
func plainType(name, kind string) string {
	if name == "partition" || name == "version" {
		return "int"
	}
	return strings.TrimPrefix(kind, "*")
}

func (d *openAPI) writeMethods(out *bytes.Buffer, owner string, methods []method, table *methodTable, keys map[string]bool) {
	for _, m := range methods {
		if m.Go != nil && *m.Go == "" {
			continue
		}
		w := d.writer(owner, &m, table)
		for name, null := range m.Null {
			fmt.Fprintf(out, "\n// Default%s is the name of the default of its type, for [%s.%s].\nconst Default%s = %q\n",
				pascal(name), owner, pascal(m.Name), pascal(name), null)
		}
		if m.By != nil && !keys[w.key] {
			keys[w.key] = true
			w.writeKey(out)
		}
		w.write(out)
	}
}

// writer writes one method.
type writer struct {
	*method
	d            *openAPI
	kafka        string
	receiver     string
	path, verb   string
	operation    *operation
	table        *methodTable
	key          string // the type of the keys of a map that it returns
	parameters   []string
	inPath       map[string]string
	statements   []string
	types        map[string]string // of the variables `body` and `query`
	stored       *record           // what the request stores
	isOneOfUnion bool              // whether the body is one member of a union, and the result that of another
	ofEach       string            // the statement that completes each record of the body
}

func (d *openAPI) writer(owner string, m *method, table *methodTable) *writer {
	r := receivers[owner]
	w := &writer{method: m, d: d, table: table, kafka: r.kafka, receiver: r.name + " *" + owner,
		inPath: map[string]string{}, types: map[string]string{}}
	w.path, w.verb, w.operation = d.find(m.Operation)
	if owner != "Kafka" {
		w.inPath["id"] = r.name + ".ID"
	}
	if w.operation.RequestBody != nil {
		w.types["body"] = d.goType("", &w.operation.RequestBody.Content[0].value.Schema)
	}
	if slices.ContainsFunc(w.operation.Parameters, func(p parameter) bool { return p.In == "query" }) {
		w.types["query"] = pascal(m.Operation) + "Query"
	}
	for _, name := range m.By {
		w.key += pascal(name)
	}
	for _, argument := range m.Arguments {
		w.argument(argument.name, argument.value)
	}
	for _, set := range m.Set {
		target, kind := w.field(set.name)
		w.statements = append(w.statements, fmt.Sprintf("%s = %s", target, literal(kind, set.value)))
	}
	if target, _ := w.field("timeout_ms"); target != "" && m.Set.get("timeout_ms") == nil {
		timeout := fmt.Sprintf("%s = Ptr(int(%s.timeout.Milliseconds()))", target, w.kafka)
		w.statements = append(w.statements, timeout)
	}
	return w
}

// find returns the path, the HTTP method and the description of an operation.
func (d *openAPI) find(id string) (string, string, *operation) {
	for _, path := range d.Paths {
		for _, entry := range path.value {
			if entry.value.OperationID == id {
				return path.name, strings.ToUpper(entry.name), &entry.value
			}
		}
	}
	log.Fatalf("there is no operation %s", id)
	return "", "", nil
}

// field returns a field of the body or the query as an expression, and its type.
func (w *writer) field(name string) (expression, kind string) {
	for _, p := range w.operation.Parameters {
		if p.In == "query" && p.Name == name {
			return "query." + pascal(name), w.d.fieldType(name, &p.Schema, false)
		}
	}
	body := w.d.Components.Schemas.get(w.types["body"])
	for _, property := range body.Properties {
		if property.name == name {
			return "body." + pascal(name), w.d.fieldType(name, &property.value, slices.Contains(body.Required, name))
		}
	}
	return "", ""
}

// argument adds a parameter, and the statements that put it into the request.
func (w *writer) argument(name, target string) {
	if filter, isFilter := strings.CutPrefix(target, "query "); isFilter {
		w.filter(name, filter)
		return
	}
	if member, isMember := strings.CutPrefix(target, "body "); isMember {
		w.types["body"], w.isOneOfUnion = member, true
		target = "body"
	}
	if target == "body" {
		w.parameters = append(w.parameters, name+" "+w.types["body"])
		w.statements = append(w.statements, "body = "+name)
		return
	}
	for _, p := range w.operation.Parameters {
		if p.In == "path" && p.Name == target {
			w.parameters = append(w.parameters, name+" "+w.d.goType(target, &p.Schema))
			w.inPath[target] = name
			return
		}
	}
	if ofEach, isOfEach := strings.CutPrefix(target, "records."); isOfEach {
		w.ofEach = fmt.Sprintf("element.%s = &%s\n", pascal(ofEach), name)
		w.parameters = append(w.parameters, name+" int")
		return
	}
	target, isOptional := strings.CutSuffix(target, "?")
	expression, field := w.field(target)
	if r := recordNamed(strings.TrimPrefix(field, "[]")); r != nil {
		w.stored = r
		w.parameters = append(w.parameters, name+" ..."+r.name)
		w.statements = append(w.statements, fmt.Sprintf(
			"if len(%s) == 0 {\nreturn nil\n}\nfor _, one := range %s {\nelement := one.body()\n%s%s = append(%s, element)\n}",
			name, name, w.ofEach, expression, expression))
		return
	}
	if expression == "" {
		log.Fatalf("%s has no %s", w.Operation, target)
	}
	if values, isMap := strings.CutPrefix(field, "map[string]*"); isMap {
		w.parameters = append(w.parameters, name+" map[string]"+values)
		w.statements = append(w.statements, w.copyOfMap(name, expression, field))
		return
	}
	kind, value := argument(name, target, field)
	w.parameters = append(w.parameters, name+" "+kind)
	statement := expression + " = " + value
	if isOptional {
		statement = fmt.Sprintf("if %s != 0 {\n%s\n}", name, statement)
	}
	w.statements = append(w.statements, statement)
}

// argument returns the type of an argument, and the expression that has it as a field of this type.
func argument(name, target, field string) (kind, value string) {
	kind, isPointer := strings.CutPrefix(field, "*")
	value = name
	switch {
	case target == "ms" || strings.HasSuffix(target, "_ms"):
		value = name + ".Milliseconds()"
		if kind == "int" {
			value = "int(" + value + ")"
		}
		kind = "time.Duration"
	case kind == "int64":
		kind, value = "int", "int64("+name+")"
	}
	if isPointer {
		value = "Ptr(" + value + ")"
	}
	return kind, value
}

func (w *writer) copyOfMap(name, target, field string) string {
	set := fmt.Sprintf("%s[name] = &value\n", target)
	if w.Null[name] != "" {
		set = fmt.Sprintf("if %s[name] = &value; value == %s {\n%s[name] = nil\n}\n", target, "Default"+pascal(name), target)
	}
	return fmt.Sprintf("%s = %s{}\nfor name, value := range %s {\n%s}", target, field, name, set)
}

// filter adds a parameter that has the query, or the fields that it has in common with the query.
func (w *writer) filter(name, kind string) {
	w.parameters = append(w.parameters, name+" "+kind)
	of := ""
	for _, alias := range w.table.Aliases {
		if alias.Name == kind {
			of = alias.Of
		}
	}
	if of == w.types["query"] {
		w.statements = append(w.statements, "query = "+name)
	} else {
		_, _, source := w.d.find(snake(strings.TrimSuffix(of, "Query")))
		for _, p := range source.Parameters {
			target, found := w.field(p.Name)
			if target != "" && found == w.d.fieldType(p.Name, &p.Schema, false) {
				w.statements = append(w.statements, fmt.Sprintf("%s = %s.%s", target, name, pascal(p.Name)))
			}
		}
	}
	for _, set := range w.Default {
		target, kind := w.field(set.name)
		w.statements = append(w.statements, defaulted(target, kind, set.value))
	}
}

// defaulted returns a statement that gives a field a value if it has none.
func defaulted(target, kind string, value any) string {
	zero := "0"
	if strings.HasPrefix(kind, "*") {
		zero = "nil"
	} else if _, isText := value.(string); isText {
		zero = `""`
	}
	return fmt.Sprintf("if %s == %s {\n%s = %s\n}", target, zero, target, literal(kind, value))
}

func literal(kind string, value any) string {
	text := fmt.Sprint(value)
	if _, isText := value.(string); isText {
		text = fmt.Sprintf("%q", value)
	}
	if kind, isPointer := strings.CutPrefix(kind, "*"); isPointer {
		return fmt.Sprintf("Ptr(%s(%s))", kind, text)
	}
	return text
}

func (w *writer) write(out *bytes.Buffer) {
	result := w.d.result(w.operation)
	returned, returns := w.returned(result)
	fmt.Fprintf(out, "\n%sfunc (%s) %s(%s) %s {\n", documented(pascal(w.Name), w.Doc), w.receiver, pascal(w.Name),
		strings.Join(w.parameters, ", "), returned)
	fmt.Fprintf(out, "%s.t.Helper()\n", w.kafka)
	statements := strings.Join(w.statements, "\n")
	for _, name := range []string{"body", "query"} {
		if strings.Contains(statements, name+" = ") {
			continue // all of it is an argument
		}
		if strings.Contains(statements, name+".") {
			fmt.Fprintf(out, "var %s %s\n", name, w.types[name])
		}
	}
	call := w.call(statements)
	if statements != "" {
		out.WriteString(strings.NewReplacer("body = ", "body := ", "query = ", "query := ").Replace(statements) + "\n")
	}
	plain, body := w.plain(result), "nil"
	query := "query"
	if w.isOneOfUnion {
		plain, query, body = w.handled(), "nil", "body"
	}
	switch {
	case w.Pages != nil:
	case plain != "":
		fmt.Fprintf(out, "var result %s\n%s.check(%s.Admin.Do(context.Background(), %q, %q, %s, %s, &result))\n",
			plain, w.kafka, w.kafka, w.verb, w.path, query, body)
	case result == "":
		fmt.Fprintf(out, "%s.check(%s)\n", w.kafka, call)
	case w.Result == "":
		fmt.Fprintf(out, "_, err := %s\n%s.check(err)\n", call, w.kafka)
	default:
		fmt.Fprintf(out, "result, err := %s\n%s.check(err)\n", call, w.kafka)
		out.WriteString(w.inVain())
	}
	out.WriteString(returns + "}\n")
}

// inVain returns the statements that fail the test if a wait has no result, with what there is instead.
func (w *writer) inVain() string {
	if w.InVain.Reason == "" {
		return ""
	}
	subject, reason, _ := strings.Cut(w.InVain.Reason, " ")
	return fmt.Sprintf("if result == nil {\nnow, err := %s.Admin.%s(context.Background(), %s)\n"+
		"%s.t.Fatalf(\"mock-kafka: %s %%q %s in %%v: %%+v %%v\", %s, %s.timeout, now, err)\n}\n",
		w.kafka, pascal(w.InVain.Operation), subject, w.kafka, subject, reason, subject, w.kafka)
}

// pages returns the statements that collect the records of all pages. A page has the values of parameters for the next
// ones, by those of another parameter.
func (w *writer) pages(element string, call string) string {
	r := recordNamed(element)
	next := w.Pages[0]
	key, kind := w.field(next.value[0])
	value, _ := w.field(next.value[1])
	var first []string
	for _, parameter := range w.parameters {
		name, _, _ := strings.Cut(parameter, " ")
		first = append(first, fmt.Sprintf("%s: %s", pascal(name), name))
	}
	return fmt.Sprintf(`for queries := []%s{query}; len(queries) > 0; queries = queries[1:] {
query := queries[0]
page, err := %s
%s.check(err)
for _, view := range page.%s {
record := %s{%s}
record.set%s(view)
found = append(found, record)
}
for name, next := range page.%s {
var key %s
%s.check(json.Unmarshal([]byte(name), &key))
%s, %s = &key, next
queries = append(queries, query)
}
}
slices.SortFunc(found, func(a, b %s) int {
return cmp.Or(cmp.Compare(a.%s, b.%s), cmp.Compare(a.%s, b.%s))
})
return found
`, w.types["query"], call, w.kafka, pascal(w.Result), r.name, strings.Join(first, ", "), element,
		pascal(next.name), strings.TrimPrefix(kind, "*"), w.kafka, key, value, r.name,
		pascal(next.value[0]), pascal(next.value[0]), pascal(next.value[1]), pascal(next.value[1]))
}

// plain returns the type of a result that has a plain one, or "".
func (w *writer) plain(result string) string {
	for _, plain := range w.table.Plain {
		if of, isOf := strings.CutSuffix(result, plain.Of); isOf {
			return of + plain.Name
		}
	}
	return ""
}

func (w *writer) call(statements string) string {
	arguments := []string{"context.Background()"}
	for _, p := range w.operation.Parameters {
		if p.In == "path" {
			arguments = append(arguments, w.inPath[p.Name])
		}
	}
	for _, name := range []string{"body", "query"} {
		switch kind := w.types[name]; {
		case kind == "":
		case strings.Contains(statements, name+".") || strings.Contains(statements, name+" = "):
			arguments = append(arguments, name)
		default:
			arguments = append(arguments, kind+"{}")
		}
	}
	return fmt.Sprintf("%s.Admin.%s(%s)", w.kafka, pascal(w.Operation), strings.Join(arguments, ", "))
}

// returned returns the type of what the method returns, and the statements that return it.
func (w *writer) returned(result string) (kind, statements string) {
	element := strings.TrimPrefix(result, "[]")
	schema := w.d.Components.Schemas.get(element)
	field := schema.Properties.get(w.Result)
	switch {
	case w.Then != "":
		first, _, _ := strings.Cut(w.parameters[0], " ")
		return "[]" + records[1].name, fmt.Sprintf("return %s.%s(%s)\n", w.kafka, pascal(w.Then), first)
	case w.Result == "":
		return "", ""
	case w.stored != nil:
		return w.places(element)
	case w.isOneOfUnion:
		return "*" + w.Result, fmt.Sprintf("return &%s{result.ID, result.Rule, %s}\n", w.Result, w.kafka)
	case w.Pages != nil:
		element := strings.TrimPrefix(w.d.goType("", &field), "[]")
		return "(found []" + recordNamed(element).name + ")", w.pages(element, w.call("query."))
	case w.InVain.Reason != "":
		return strings.TrimPrefix(result, "*"), "return *result\n"
	case w.By != nil:
		return w.byKey(element, strings.TrimPrefix(w.d.goType(w.Result, &field), "*"))
	case w.Without != "":
		return "(found " + result + ")", fmt.Sprintf(
			"for _, one := range result {\nif !one.%s {\nfound = append(found, one)\n}\n}\nreturn found\n", pascal(w.Without))
	case w.Result == "*" && w.plain(result) != "":
		return w.plain(result), "return result\n"
	case w.Result == "*":
		return result, "return result\n"
	case w.Result == "now_ms":
		return "time.Time", "return time.UnixMilli(result.NowMS)\n"
	case field.Type == "integer":
		return "int", fmt.Sprintf("return int(result.%s)\n", pascal(w.Result))
	}
	return w.d.goType(w.Result, &field), fmt.Sprintf("return result.%s\n", pascal(w.Result))
}

// handled returns the type that the handle of the result is made of.
func (w *writer) handled() string {
	for _, handle := range w.table.Handles {
		if handle.Name == w.Result {
			return handle.Of
		}
	}
	log.Fatalf("there is no handle %s", w.Result)
	return ""
}

// places returns the statements that return the stored records, with what the response says of each.
func (w *writer) places(view string) (kind, statements string) {
	first, _, _ := strings.Cut(w.parameters[0], " ")
	last, _, _ := strings.Cut(w.parameters[len(w.parameters)-1], " ")
	return "[]" + w.stored.name, fmt.Sprintf("stored := slices.Clone(%s)\nfor i, one := range result {\nstored[i].%s = %s\n"+
		"stored[i].set%s(one)\n}\nreturn stored\n", last, pascal(first), first, view)
}

func (w *writer) byKey(element, value string) (kind, statements string) {
	schema := w.d.Components.Schemas.get(element)
	var key []string
	for _, name := range w.By {
		property := schema.Properties.get(name)
		field := "one." + pascal(name)
		if original := w.d.goType(name, &property); original != plainType(name, original) {
			field = plainType(name, original) + "(" + field + ")"
		}
		key = append(key, field)
	}
	kind = fmt.Sprintf("map[%s]%s", w.key, value)
	return kind, fmt.Sprintf("found := %s{}\nfor _, one := range result {\nif one.%s != nil {\nfound[%s{%s}] = *one.%s\n}\n}\nreturn found\n",
		kind, pascal(w.Result), w.key, strings.Join(key, ", "), pascal(w.Result))
}

func (w *writer) writeKey(out *bytes.Buffer) {
	element := w.d.Components.Schemas.get(strings.TrimPrefix(w.d.result(w.operation), "[]"))
	fmt.Fprintf(out, "\n// %s is a key of maps.\ntype %s struct {\n", w.key, w.key)
	for _, name := range w.By {
		property := element.Properties.get(name)
		fmt.Fprintf(out, "%s %s\n", pascal(name), plainType(name, w.d.goType(name, &property)))
	}
	out.WriteString("}\n")
}

// writeAction writes a method that adds a fault rule.
func (d *openAPI) writeAction(out *bytes.Buffer, m *method) {
	rule := d.Components.Schemas.get("FaultRule")
	kindOf := func(name string) string {
		property := rule.Properties.get(name)
		return d.fieldType(name, &property, false)
	}
	var parameters, statements []string
	for _, entry := range m.Arguments {
		kind, value := argument(entry.name, entry.value, kindOf(entry.value))
		parameters = append(parameters, entry.name+" "+kind)
		statements = append(statements, fmt.Sprintf("when.%s = %s", pascal(entry.value), value))
	}
	set := func(values ordered[any]) (out string) {
		for _, entry := range values {
			out += fmt.Sprintf("when.%s = %s\n", pascal(entry.name), literal(kindOf(entry.name), entry.value))
		}
		return out
	}
	statements = append(statements, set(m.Set))
	for _, entry := range m.With {
		statements = append(statements, fmt.Sprintf("if when.%s != nil {\n%s}", pascal(entry.name), set(entry.value)))
	}
	for _, entry := range m.Default {
		statements = append(statements, defaulted("when."+pascal(entry.name), kindOf(entry.name), entry.value))
	}
	result, added := "Fault", "k.AddFault(when)"
	if m.Result != "" {
		result, added = m.Result, fmt.Sprintf("&%s{%s}", m.Result, added)
	}
	fmt.Fprintf(out, "\n%sfunc (k *Kafka) %s(%s) *%s {\nk.t.Helper()\n%s\nreturn %s\n}\n", documented(pascal(m.Name), m.Doc),
		pascal(m.Name), strings.Join(append(parameters, "when When"), ", "), result, strings.Join(statements, "\n"), added)
}
