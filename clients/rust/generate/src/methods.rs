//! The methods that are made for tests, by the table of their names.

use crate::{comment, fields_of, kind, pascal, queries_of, result, text, Field};
use serde_json::{Map, Value};
use std::fmt::Write;

type Schemas = Map<String, Value>;

pub fn write(out: &mut String, schemas: &Schemas, document: &Value, table: &Value) {
    let no_program = text(table, "no_program");
    writeln!(
        out,
        "\n/// The reason why no cluster starts.\npub(crate) const NO_PROGRAM: &str = {no_program:?};"
    )
    .unwrap();
    write_options(out, list(&table["options"]).collect());
    for alias in list(&table["aliases"]) {
        comment(out, "\n///", text(alias, "doc"));
        writeln!(out, "pub type {} = {};", text(alias, "name"), text(alias, "of")).unwrap();
        if let Some(function) = alias["function"].as_str() {
            let kind = text(alias, "name");
            writeln!(out, "\n/// Returns an empty [`{kind}`], to set its fields.").unwrap();
            writeln!(out, "pub fn {function}() -> {kind} {{\n{kind}::default()\n}}").unwrap();
        }
    }
    for plain in list(&table["plain"]) {
        write_plain(out, schemas, plain);
    }
    for handle in list(&table["handles"]) {
        write_handle(out, schemas, handle);
    }
    writeln!(out, "\nimpl MockKafka {{").unwrap();
    for action in list(&table["actions"]) {
        write_action(out, schemas, action);
    }
    for (owner, methods) in [("Kafka", &table["Kafka"]), ("Fault", &table["Fault"]), ("Hold", &table["Hold"])]
    {
        if owner != "Kafka" {
            writeln!(out, "}}\n\nimpl {owner} {{").unwrap();
        }
        for method in list(methods).filter(|method| method["rust"] != "") {
            Method::new(schemas, document, table, method).write(out);
        }
    }
    writeln!(out, "}}").unwrap();
}

fn list(value: &Value) -> impl Iterator<Item = &Value> {
    value.as_array().into_iter().flatten()
}

fn entries(value: &Value) -> impl Iterator<Item = (&String, &Value)> {
    value.as_object().into_iter().flatten()
}

fn literal(value: &Value) -> String {
    if value.is_string() {
        format!("{value}.into()")
    } else {
        value.to_string()
    }
}

/// Writes the options of a start.
fn write_options(out: &mut String, options: Vec<&Value>) {
    let (mut fields, mut setters, mut arguments) = (String::new(), String::new(), String::new());
    for option in options {
        let (name, argument) = (text(option, "name"), text(option, "argument"));
        let (kind, parameters, set) = match text(option, "kind") {
            "count" => ("Option<u16>", "count: u16", format!("self.{name} = Some(count);")),
            "values" => (
                "BTreeMap<String, String>",
                "key: &str, value: impl Display",
                format!("self.{name}.insert(key.into(), value.to_string());"),
            ),
            "words" => (
                "Vec<String>",
                "words: impl IntoIterator<Item = T>",
                format!("self.{name} = words.into_iter().map(Into::into).collect();"),
            ),
            "path" => {
                ("Option<String>", "path: impl Into<String>", format!("self.{name} = Some(path.into());"))
            }
            _ => ("bool", "", format!("self.{name} = true;")),
        };
        let item = match text(option, "kind") {
            "count" => "one.to_string()",
            "path" => "one.clone()",
            _ => "format!(\"{}={}\", one.0, one.1)",
        };
        if kind == "bool" && !argument.is_empty() {
            writeln!(arguments, "found.extend(self.{name}.then(|| {argument:?}.into()));").unwrap();
        } else if !argument.is_empty() {
            writeln!(
                arguments,
                "found.extend(self.{name}.iter().flat_map(|one| [{argument:?}.into(), {item}]));"
            )
            .unwrap();
        }
        writeln!(fields, "pub(crate) {name}: {kind},").unwrap();
        comment(&mut setters, "\n///", text(option, "doc"));
        let generics = if kind == "Vec<String>" { "<T: Into<String>>" } else { "" };
        writeln!(setters, "pub fn {name}{generics}(mut self, {parameters}) -> Self {{\n{set}").unwrap();
        for (key, value) in entries(&option["config"]) {
            writeln!(setters, "self.config.insert({key:?}.into(), {value}.into());").unwrap();
        }
        writeln!(setters, "self\n}}").unwrap();
    }
    comment(out, "\n///", "The settings of a cluster.");
    writeln!(
        out,
        "#[derive(Clone, Debug, Default, PartialEq)]\n#[must_use]\npub struct Builder {{\n{fields}}}\n"
    )
    .unwrap();
    writeln!(out, "impl Builder {{{setters}\n/// The arguments of the program.").unwrap();
    writeln!(out, "pub(crate) fn arguments(&self) -> Vec<String> {{\nlet mut found = Vec::new();").unwrap();
    writeln!(out, "{arguments}found\n}}\n}}").unwrap();
}

/// Writes a type whose fields have their defaults instead of null.
fn write_plain(out: &mut String, schemas: &Schemas, plain: &Value) {
    let (name, of) = (text(plain, "name"), text(plain, "of"));
    let fields = fields_of(schemas, of);
    comment(out, "\n///", text(plain, "doc"));
    writeln!(out, "#[derive(Clone, Debug, Default, PartialEq)]\npub struct {name} {{").unwrap();
    for field in &fields {
        comment(out, "///", &field.description);
        writeln!(out, "pub {}: {},", field.identifier(), field.optional().unwrap_or(&field.kind)).unwrap();
    }
    writeln!(out, "}}\n\nimpl From<{of}> for {name} {{\nfn from(view: {of}) -> Self {{\n{name} {{").unwrap();
    for field in &fields {
        let (field, default) =
            (field.identifier(), if field.optional().is_some() { ".unwrap_or_default()" } else { "" });
        writeln!(out, "{field}: view.{field}{default},").unwrap();
    }
    writeln!(out, "}}\n}}\n}}").unwrap();
}

/// Writes a type that has methods, for something that the cluster has.
fn write_handle(out: &mut String, schemas: &Schemas, handle: &Value) {
    let (name, of, doc) = (text(handle, "name"), text(handle, "of"), text(handle, "doc"));
    let mut drop = String::new();
    let doc = doc.strip_prefix("Is a ").map_or(doc.to_string(), |rest| format!("A {rest}"));
    comment(out, "\n///", &doc);
    if let Some(reason) = handle["must_use"].as_str() {
        writeln!(out, "#[must_use = {reason:?}]").unwrap();
    }
    if let Some(release) = handle["on_drop"].as_str() {
        drop = format!(
            "\nimpl Drop for {name} {{\nfn drop(&mut self) {{\n\
             let _ = self.{release}(); // it may be removed already, by a reset also\n}}\n}}"
        );
    }
    if !schemas.contains_key(of) {
        writeln!(
            out,
            "pub struct {name}({of});\n\nimpl std::ops::Deref for {name} {{\ntype Target = {of};\n"
        )
        .unwrap();
        writeln!(out, "fn deref(&self) -> &{of} {{\n&self.0\n}}\n}}\n{drop}").unwrap();
        return;
    }
    writeln!(out, "pub struct {name} {{").unwrap();
    let fields = fields_of(schemas, of);
    for field in fields.iter().filter(|field| list(&handle["fields"]).any(|name| *name == field.name)) {
        writeln!(out, "pub {}: {},", field.name, field.kind).unwrap();
    }
    writeln!(out, "admin: Admin,\ntimeout: Duration,\n}}").unwrap();
}

/// Writes a method that adds a fault rule.
fn write_action(out: &mut String, schemas: &Schemas, action: &Value) {
    let fields = fields_of(schemas, "FaultRule");
    let (mut parameters, mut statements) = (String::new(), String::new());
    for (name, target) in entries(&action["arguments"]) {
        let target = target.as_str().unwrap();
        let field = fields.iter().find(|field| field.name == target).expect(target);
        let (kind, value) = argument(name, field);
        write!(parameters, "{name}: {kind}, ").unwrap();
        writeln!(statements, "let when = when.{target}({value});").unwrap();
    }
    for (name, value) in entries(&action["set"]) {
        writeln!(statements, "let when = when.{name}({value});").unwrap();
    }
    for (name, values) in entries(&action["with"]) {
        for (field, value) in entries(values) {
            writeln!(
                statements,
                "let when = if when.{name}.is_some() {{ when.{field}({value}) }} else {{ when }};"
            )
            .unwrap();
        }
    }
    for (name, value) in entries(&action["default"]) {
        writeln!(
            statements,
            "let when = if when.{name}.is_none() {{ when.{name}({value}) }} else {{ when }};"
        )
        .unwrap();
    }
    let (kind, added) = match action["result"].as_str() {
        Some(kind) => (kind, format!("Ok({kind}(self.add_fault(when)?))")),
        None => ("Fault", "self.add_fault(when)".into()),
    };
    comment(out, "\n///", text(action, "doc"));
    writeln!(out, "pub fn {}(&self, {parameters}when: When) -> Result<{kind}> {{", text(action, "name"))
        .unwrap();
    writeln!(out, "{statements}{added}\n}}").unwrap();
}

/// Returns the type of an argument, and the expression that has it as a value of a field.
fn argument(name: &str, field: &Field) -> (String, String) {
    let kind = field.optional().unwrap_or(&field.kind);
    match kind {
        "i64" if field.name == "ms" || field.name.ends_with("_ms") => ("Duration".into(), milliseconds(name)),
        "String" => ("&str".into(), name.into()),
        _ => (kind.into(), name.into()),
    }
}

fn milliseconds(duration: &str) -> String {
    format!("i64::try_from({duration}.as_millis()).unwrap_or(i64::MAX)")
}

/// A method, and what it sends.
struct Method<'a> {
    schemas: &'a Schemas,
    table: &'a Value,
    entry: &'a Value,
    path: &'a str,
    verb: String,
    operation: &'a Value,
    result: String,
    body: String,
    generics: &'static str,
    parameters: Vec<(String, String)>,
    in_path: Vec<(String, String)>,
    statements: String,
    /// The fields of the body and of the query with their values.
    body_fields: Vec<(String, String)>,
    query_fields: Vec<(String, String)>,
    /// A parameter that is the whole body, or the base of the query.
    whole_body: Option<String>,
    filter: Option<String>,
    is_one_of_union: bool,
}

impl<'a> Method<'a> {
    fn new(schemas: &'a Schemas, document: &'a Value, table: &'a Value, entry: &'a Value) -> Self {
        let (path, verb, operation) = find(document, text(entry, "operation"));
        let content = &operation["requestBody"]["content"]["application/json"]["schema"];
        let mut method = Method {
            schemas,
            table,
            entry,
            path,
            verb: verb.to_uppercase(),
            operation,
            result: result(schemas, operation),
            body: if content.is_null() { String::new() } else { kind(schemas, content) },
            generics: "",
            parameters: Vec::new(),
            in_path: Vec::new(),
            statements: String::new(),
            body_fields: Vec::new(),
            query_fields: Vec::new(),
            whole_body: None,
            filter: None,
            is_one_of_union: false,
        };
        for (name, target) in entries(&entry["arguments"]) {
            method.argument(document, name, target.as_str().unwrap());
        }
        for (name, value) in entries(&entry["set"]) {
            method.set(name, &format!("Some({})", literal(value)));
        }
        if entry["set"].get("timeout_ms").is_none() && method.query("timeout_ms").is_some() {
            method.set("timeout_ms", &format!("Some({})", milliseconds("self.timeout")));
        }
        method
    }

    fn query(&self, name: &str) -> Option<Field> {
        queries_of(self.schemas, self.operation).into_iter().find(|field| field.name == name)
    }

    fn field(&self, name: &str) -> Option<Field> {
        self.schemas.get(&self.body)?;
        fields_of(self.schemas, &self.body).into_iter().find(|field| field.name == name)
    }

    fn set(&mut self, name: &str, value: &str) {
        let fields = if self.query(name).is_some() { &mut self.query_fields } else { &mut self.body_fields };
        fields.push((name.into(), value.into()));
    }

    fn parameter(&mut self, name: &str, kind: &str) {
        self.parameters.push((name.into(), kind.into()));
    }

    fn argument(&mut self, document: &Value, name: &str, target: &str) {
        if let Some(filter) = target.strip_prefix("query ") {
            self.parameter(name, &format!("&{filter}"));
            return self.filter(document, name, filter);
        }
        if let Some(member) = target.strip_prefix("body ") {
            self.is_one_of_union = true;
            return self.parameter(name, member);
        }
        if target == "body" {
            self.parameter(name, &format!("&{}", self.body));
            self.whole_body = Some(name.into());
            return;
        }
        if let Some(found) =
            list(&self.operation["parameters"]).find(|one| one["in"] == "path" && one["name"] == target)
        {
            let is_text = kind(self.schemas, &found["schema"]) == "String";
            self.parameter(name, if is_text { "&str" } else { "i64" });
            return self.in_path.push((target.into(), name.into()));
        }
        let (target, is_optional) = target.strip_suffix('?').map_or((target, false), |target| (target, true));
        let field = self.query(target).or_else(|| self.field(target)).expect(target);
        if field.kind == "Vec<RecordBody>" {
            self.generics = "<T: Into<NewRecord>>";
            self.parameter(name, "impl IntoIterator<Item = T>");
            write!(
                self.statements,
                "let {name}: Vec<NewRecord> = {name}.into_iter().map(Into::into).collect();\n\
                if {name}.is_empty() {{\nreturn Ok(Vec::new());\n}}\n"
            )
            .unwrap();
            return self.set(target, &format!("{name}.iter().map(RecordBody::from).collect()"));
        }
        if let Some(values) = field.kind.strip_prefix("BTreeMap<String, Option<") {
            return self.map(name, target, &values[..values.len() - 2]);
        }
        let (kind, value) = argument(name, &field);
        let into = if kind == "&str" { ".into()" } else { "" };
        match (is_optional, field.optional()) {
            (true, _) => {
                self.parameter(name, &format!("Option<{kind}>"));
                self.set(target, &value);
            }
            (false, Some(_)) => {
                self.parameter(name, &kind);
                self.set(target, &format!("Some({value}{into})"));
            }
            (false, None) => {
                self.parameter(name, &kind);
                self.set(target, &format!("{value}{into}"));
            }
        }
    }

    /// Adds a parameter for a map with values that may be null: pairs of a name and a value.
    fn map(&mut self, name: &str, target: &str, values: &str) {
        let has_null = self.entry["null"].get(name).is_some();
        let (kind, value) = match (values, has_null) {
            ("String", true) => ("Option<&str>", "value.map(String::from)"),
            ("String", false) => ("&str", "Some(String::from(*value))"),
            (_, true) => ("Option<f64>", "*value"),
            (_, false) => ("f64", "Some(*value)"),
        };
        self.parameter(name, &format!("&[(&str, {kind})]"));
        self.set(
            target,
            &format!("{name}.iter().map(|(name, value)| (name.to_string(), {value})).collect()"),
        );
    }

    /// Takes the fields that the filter has in common with the query.
    fn filter(&mut self, document: &Value, name: &str, filter: &str) {
        let alias = list(&self.table["aliases"]).find(|alias| alias["name"] == filter).expect(filter);
        let is_same = text(alias, "of") == format!("{}Query", pascal(text(self.entry, "operation")));
        let source = text(alias, "of").strip_suffix("Query").expect("a query");
        let (_, _, source) = find(document, &snake(source));
        for field in queries_of(self.schemas, source) {
            let value = match field.kind.as_str() {
                "i64" | "bool" | "f64" => format!("{name}.{}", field.name),
                _ => format!("{name}.{}.clone()", field.name),
            };
            let has_it = self.query(&field.name).is_some_and(|found| found.kind == field.kind);
            match self.entry["default"].get(&field.name) {
                Some(default) if default.is_string() => {
                    self.set(&field.name, &format!("{value}.or_else(|| Some({}))", literal(default)));
                }
                Some(default) => self.set(&field.name, &format!("{value}.or(Some({default}))")),
                None if has_it && !is_same => self.set(&field.name, &value),
                None => {}
            }
        }
        self.filter = is_same.then(|| name.into());
    }

    /// Returns a struct with these fields; the others have their defaults, or the values of a base.
    fn structure(name: &str, all: &[Field], fields: &[(String, String)], base: &str) -> String {
        let set: Vec<_> = fields
            .iter()
            .map(|(name, value)| if name == value { name.clone() } else { format!("{name}: {value}") })
            .collect();
        let rest = if fields.len() < all.len() { format!(", ..{base}") } else { String::new() };
        format!("{name} {{ {}{rest} }}", set.join(", "))
    }

    fn call(&mut self) -> String {
        let mut arguments = Vec::new();
        for parameter in list(&self.operation["parameters"]).filter(|one| one["in"] == "path") {
            let name = text(parameter, "name");
            let found = self.in_path.iter().find(|(target, _)| target == name);
            arguments.push(found.map_or(format!("self.{name}"), |(_, argument)| argument.clone()));
        }
        if !self.body.is_empty() {
            arguments.push(match &self.whole_body {
                Some(name) => name.clone(),
                None if self.body_fields.is_empty() => format!("&{}::default()", self.body),
                None => {
                    let all = fields_of(self.schemas, &self.body);
                    let body = Self::structure(&self.body, &all, &self.body_fields, "Default::default()");
                    writeln!(self.statements, "let body = {body};").unwrap();
                    "&body".into()
                }
            });
        }
        let queries = queries_of(self.schemas, self.operation);
        if !queries.is_empty() {
            let name = format!("{}Query", pascal(text(self.entry, "operation")));
            if self.query_fields.is_empty() {
                arguments.push(format!("&{name}::default()"));
            } else {
                let base = self
                    .filter
                    .as_ref()
                    .map_or("Default::default()".into(), |filter| format!("{filter}.clone()"));
                let query = Self::structure(&name, &queries, &self.query_fields, &base);
                writeln!(self.statements, "let query = {query};").unwrap();
                arguments.push("&query".into());
            }
        }
        format!("self.admin.{}({})", text(self.entry, "operation"), arguments.join(", "))
    }

    fn write(mut self, out: &mut String) {
        let call = self.call();
        let (kind, returned) = self.returned(&call);
        comment(out, "\n///", text(self.entry, "doc"));
        let name = self.entry["rust"].as_str().unwrap_or(text(self.entry, "name"));
        let parameters: String =
            self.parameters.iter().map(|(name, kind)| format!(", {name}: {kind}")).collect();
        writeln!(out, "pub fn {name}{}(&self{parameters}) -> Result<{kind}> {{", self.generics).unwrap();
        writeln!(out, "{}{returned}\n}}", self.statements).unwrap();
    }

    /// Returns the type of the result, and the statements that return it.
    fn returned(&self, call: &str) -> (String, String) {
        let field = text(self.entry, "result");
        let first = self.parameters.first().map_or("", |(name, _)| name);
        let element = self.result.strip_prefix("Vec<").and_then(|kind| kind.strip_suffix('>'));
        let plain = list(&self.table["plain"]).find(|plain| plain["of"] == element.unwrap_or(&self.result));
        if !self.generics.is_empty() {
            let (last, _) = self.parameters.last().expect("records");
            return ("Vec<Record>".into(), format!(
                "let stored = {last}.into_iter().zip({call}?);\nOk(stored.map(|(record, view)| record.stored({first}, view)).collect())"
            ));
        }
        if self.is_one_of_union {
            let handle = list(&self.table["handles"]).find(|handle| handle["name"] == field).expect(field);
            let fields: String = list(&handle["fields"])
                .map(|name| format!("{0}: view.{0}, ", name.as_str().unwrap()))
                .collect();
            return (
                field.into(),
                format!(
                    "let view: {} = self.admin.send({:?}, {:?}, None::<&()>, Some(&{first}))?;\n\
                Ok({field} {{ {fields}admin: self.admin.clone(), timeout: self.timeout }})",
                    text(handle, "of"),
                    self.verb,
                    self.path
                ),
            );
        }
        if let Some(then) = self.entry["then"].as_str() {
            return ("Vec<Record>".into(), format!("{call}?;\nself.{then}({first})"));
        }
        if let Some((next, names)) = entries(&self.entry["pages"]).next() {
            return (
                "Vec<Record>".into(),
                self.pages(call, first, next, [text_at(names, 0), text_at(names, 1)]),
            );
        }
        if let Some(reason) = self.entry["in_vain"]["reason"].as_str() {
            let (subject, reason) = reason.split_once(' ').expect("a subject");
            let kind = self.result.trim_start_matches("Option<").trim_end_matches('>');
            return (kind.into(), format!("if let Some(found) = {call}? {{\nreturn Ok(found);\n}}\n\
                let now = match self.admin.{}({subject}) {{\nOk(found) => format!(\"{{found:?}}\"),\nErr(error) => error.to_string(),\n}};\n\
                Err(Error::Timeout(format!(\"{subject} {{{subject}:?}} {reason} in {{:?}}: {{now}}\", self.timeout)))",
                text(&self.entry["in_vain"], "operation")));
        }
        if let Some(by) = self.entry["by"].as_array() {
            let key: Vec<_> = by.iter().map(|name| format!("one.{}", name.as_str().unwrap())).collect();
            return ("BTreeMap<(String, i64), i64>".into(), format!(
                "let found = {call}?.into_iter().filter_map(|one| Some((({}), one.{field}?)));\nOk(found.collect())", key.join(", ")
            ));
        }
        if let Some(without) = self.entry["without"].as_str() {
            return (
                self.result.clone(),
                format!("Ok({call}?.into_iter().filter(|one| !one.{without}).collect())"),
            );
        }
        match (field, plain, element) {
            ("", _, _) if self.result == "()" => ("()".into(), call.into()),
            ("", _, _) => ("()".into(), format!("{call}.map(drop)")),
            ("*", Some(plain), Some(_)) => {
                (format!("Vec<{}>", text(plain, "name")), format!("Ok({call}?.into_iter().map(Into::into).collect())"))
            }
            ("*", Some(plain), None) => (text(plain, "name").into(), format!("{call}.map(Into::into)")),
            ("*", None, _) => (self.result.clone(), call.into()),
            ("now_ms", _, _) => ("SystemTime".into(), format!(
                "let now_ms = {call}?.now_ms;\nOk(UNIX_EPOCH + Duration::from_millis(now_ms.try_into().unwrap_or(0)))"
            )),
            _ => {
                let found = fields_of(self.schemas, &self.result).into_iter().find(|one| one.name == field).expect(field);
                (found.kind, format!("Ok({call}?.{field})"))
            }
        }
    }

    /// Returns the statements that collect the records of all pages. A page has the values of a parameter for the next
    /// ones, by those of another parameter.
    fn pages(&self, call: &str, first: &str, next: &str, [key, value]: [&str; 2]) -> String {
        format!(
            "let mut queries = vec![query];\nlet mut found = Vec::new();\nwhile let Some(query) = queries.pop() {{\n\
             let page = {call}?;\n\
             found.extend(page.{}.into_iter().map(|view| Record {{ {first}: {first}.into(), ..Record::from(view) }}));\n\
             for (name, next) in page.{next} {{\nlet {key}: i64 = name.parse().expect(\"a number\");\n\
             queries.push(query.clone().{key}({key}).{value}(next));\n}}\n}}\n\
             found.sort_by_key(|one| (one.{key}, one.{value}));\nOk(found)",
            text(self.entry, "result")
        )
    }
}

fn text_at(names: &Value, place: usize) -> &str {
    names[place].as_str().expect("a name")
}

/// Returns the path, the HTTP method and the description of an operation.
fn find<'a>(document: &'a Value, id: &str) -> (&'a str, &'a str, &'a Value) {
    for (path, operations) in entries(&document["paths"]) {
        for (verb, operation) in entries(operations) {
            if operation["operationId"] == id {
                return (path, verb, operation);
            }
        }
    }
    panic!("there is no operation {id}")
}

fn snake(name: &str) -> String {
    let mut out = String::new();
    for letter in name.chars() {
        if letter.is_uppercase() && !out.is_empty() {
            out.push('_');
        }
        out.extend(letter.to_lowercase());
    }
    out
}
