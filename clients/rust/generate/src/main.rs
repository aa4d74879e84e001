//! Writes the types and operations of the admin port, from its OpenAPI document, and methods that call them, by the table
//! of their names.
//!
//! ```console
//! $ cargo run -p generate ../openapi.json ../methods.json src/generated.rs
//! ```

mod methods;
mod records;

use serde_json::{Map, Value};
use std::collections::HashSet;
use std::fmt::Write;
use std::process::Command;

const HEADER: &str = "// Made by `generate` from clients/openapi.json and clients/methods.json. Do not edit.

use crate::{Admin, Error, MockKafka, Result};
use base64::prelude::{Engine, BASE64_STANDARD};
use percent_encoding::{utf8_percent_encode, NON_ALPHANUMERIC};
use serde::{Deserialize, Serialize};
use serde_json::{json, Value};
use std::collections::BTreeMap;
use std::fmt::Display;
use std::io::Read;
use std::time::{Duration, SystemTime, UNIX_EPOCH};
";

fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    let (document, table) = (read(&arguments[1]), read(&arguments[2]));
    let mut out = String::from(HEADER);
    let schemas = document["components"]["schemas"].as_object().expect("schemas");
    for (name, schema) in schemas {
        if schema.get("enum").is_none() {
            structure(&mut out, schemas, name, schema);
        }
    }
    operations(&mut out, schemas, &document);
    records::write(&mut out, schemas);
    methods::write(&mut out, schemas, &document, &table);
    std::fs::write(&arguments[3], out).expect("the file to write");
    let formatted =
        Command::new("rustfmt").args(["--edition", "2021", "--config-path", ".", &arguments[3]]).status();
    assert!(formatted.expect("rustfmt").success());
}

fn read(path: &str) -> Value {
    let text = std::fs::read_to_string(path).expect(path);
    serde_json::from_str(&text).expect("JSON")
}

fn text<'a>(value: &'a Value, key: &str) -> &'a str {
    value[key].as_str().unwrap_or_default()
}

/// Writes a description as a comment; code in it is not run as a test.
fn comment(out: &mut String, mark: &str, text: &str) {
    for paragraph in text.trim().lines() {
        let mut line = mark.to_string();
        for word in paragraph.trim().replace('[', "\\[").replace(']', "\\]").split(' ') {
            if line.len() + word.len() >= LINE_LENGTH {
                writeln!(out, "{line}").unwrap();
                line = mark.trim_start().to_string();
            }
            line = line + " " + word;
        }
        writeln!(out, "{}", line.trim_end()).unwrap();
    }
}

const LINE_LENGTH: usize = 118;

fn structure(out: &mut String, schemas: &Map<String, Value>, name: &str, schema: &Value) {
    write_struct(out, name, text(schema, "description"), &fields_of(schemas, name));
}

/// Returns the fields of a schema.
fn fields_of(schemas: &Map<String, Value>, name: &str) -> Vec<Field> {
    let schema = &schemas[name];
    let required: HashSet<&str> =
        schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    let fields = schema["properties"].as_object().into_iter().flatten();
    let fields = fields.map(|(field, schema)| Field {
        name: field.clone(),
        description: text(schema, "description").into(),
        kind: kind(schemas, schema),
        is_required: required.contains(field.as_str()),
    });
    fields.collect()
}

/// Returns the fields of the query of an operation.
fn queries_of(schemas: &Map<String, Value>, operation: &Value) -> Vec<Field> {
    let parameters = operation["parameters"].as_array().into_iter().flatten();
    let queries = parameters.filter(|parameter| parameter["in"] == "query").map(|parameter| Field {
        name: text(parameter, "name").into(),
        description: text(parameter, "description").into(),
        kind: kind(schemas, &parameter["schema"]),
        is_required: false,
    });
    queries.collect()
}

/// Words of Rust that fields of the document have as their names.
const KEYWORDS: [&str; 2] = ["type", "where"];

struct Field {
    name: String,
    description: String,
    kind: String,
    is_required: bool,
}

impl Field {
    /// The type without an `Option`, if the field has one.
    fn optional(&self) -> Option<&str> {
        let inner = self.kind.strip_prefix("Option<").and_then(|kind| kind.strip_suffix('>'));
        match (inner, self.is_required) {
            (None, true) => None,
            (None, false) => Some(&self.kind),
            (found, _) => found,
        }
    }

    fn identifier(&self) -> String {
        if KEYWORDS.contains(&self.name.as_str()) {
            format!("r#{}", self.name)
        } else {
            self.name.clone()
        }
    }
}

fn write_struct(out: &mut String, name: &str, description: &str, fields: &[Field]) {
    writeln!(out).unwrap();
    comment(out, "///", description);
    writeln!(out, "#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]").unwrap();
    writeln!(out, "pub struct {name} {{").unwrap();
    for field in fields {
        comment(out, "///", &field.description);
        if !field.is_required {
            writeln!(out, "#[serde(default, skip_serializing_if = \"Option::is_none\")]").unwrap();
        }
        let kind = match field.optional() {
            Some(kind) => format!("Option<{kind}>"),
            None => field.kind.clone(),
        };
        writeln!(out, "pub {}: {kind},", field.identifier()).unwrap();
    }
    writeln!(out, "}}").unwrap();
    // What users write has methods that set what is optional.
    if !name.ends_with("View") && name != "ProblemDocument" && name != "RemedyDocument" {
        setters(out, name, fields);
    }
}

fn setters(out: &mut String, name: &str, fields: &[Field]) {
    if fields.iter().all(|field| field.optional().is_none()) {
        return;
    }
    writeln!(out, "\nimpl {name} {{").unwrap();
    for field in fields {
        let Some(kind) = field.optional() else { continue };
        let identifier = field.identifier();
        if field.description.is_empty() {
            writeln!(out, "/// Sets `{}`.", field.name).unwrap();
        }
        comment(out, "///", &field.description);
        writeln!(out, "pub fn {identifier}(mut self, value: impl Into<{kind}>) -> Self {{").unwrap();
        writeln!(out, "self.{identifier} = Some(value.into()); self }}").unwrap();
    }
    writeln!(out, "}}").unwrap();
}

/// Returns the type of the values of a schema.
fn kind(schemas: &Map<String, Value>, schema: &Value) -> String {
    if let Some(target) = schema["$ref"].as_str() {
        let target = target.rsplit('/').next().unwrap();
        let is_text = schemas[target].get("enum").is_some();
        return if is_text { "String".into() } else { target.into() };
    }
    if let Some(members) = schema["anyOf"].as_array() {
        let rest: Vec<_> = members.iter().filter(|member| member["type"] != "null").collect();
        let inner = match rest.as_slice() {
            [one] => kind(schemas, one),
            // A name from a list, or another text.
            all if all.iter().all(|one| one.get("enum").is_some() || one.get("pattern").is_some()) => {
                "String".into()
            }
            _ => return "Value".into(),
        };
        let is_nullable = rest.len() < members.len();
        return if is_nullable { format!("Option<{inner}>") } else { inner };
    }
    if let Some(values) = schema["enum"].as_array() {
        return if values[0].is_string() { "String".into() } else { "i64".into() };
    }
    match text(schema, "type") {
        "array" => format!("Vec<{}>", kind(schemas, &schema["items"])),
        "object" if schema["additionalProperties"].is_object() => {
            format!("BTreeMap<String, {}>", kind(schemas, &schema["additionalProperties"]))
        }
        "integer" => "i64".into(),
        "number" => "f64".into(),
        "boolean" => "bool".into(),
        "string" => "String".into(),
        _ => "Value".into(),
    }
}

fn operations(out: &mut String, schemas: &Map<String, Value>, document: &Value) {
    let mut methods = String::new();
    for (path, operations) in document["paths"].as_object().expect("paths") {
        for (method, operation) in operations.as_object().expect("operations") {
            let result = result(schemas, operation);
            if result != "page" && operation["operationId"] != "get_openapi" {
                write_operation(out, &mut methods, schemas, path, method, operation, &result);
            }
        }
    }
    writeln!(out, "\n/// The operations of the port.\nimpl Admin {{\n{methods}}}").unwrap();
}

/// Writes the method of an operation, and the struct of its query.
fn write_operation(
    out: &mut String,
    methods: &mut String,
    schemas: &Map<String, Value>,
    path: &str,
    method: &str,
    operation: &Value,
    result: &str,
) {
    let name = text(operation, "operationId");
    let (mut arguments, mut in_path) = (String::new(), Vec::new());
    let queries = queries_of(schemas, operation);
    for parameter in operation["parameters"].as_array().into_iter().flatten() {
        let field = text(parameter, "name");
        let found = kind(schemas, &parameter["schema"]);
        if parameter["in"] == "path" {
            let is_text = found == "String";
            write!(arguments, ", {field}: {}", if is_text { "&str" } else { &found }).unwrap();
            in_path.push(if is_text {
                format!("utf8_percent_encode({field}, NON_ALPHANUMERIC)")
            } else {
                field.into()
            });
        }
    }
    let (mut query, mut body) = ("Value::Null".to_string(), "Value::Null".to_string());
    if let Some(content) = operation["requestBody"]["content"].get("application/json") {
        write!(arguments, ", body: &{}", kind(schemas, &content["schema"])).unwrap();
        body = "json!(body)".into();
    }
    if !queries.is_empty() {
        let kind = format!("{}Query", pascal(name));
        let description = format!("The parameters of `Admin::{name}`; those that are not set are not sent.");
        write_struct(out, &kind, &description, &queries);
        write!(arguments, ", query: &{kind}").unwrap();
        query = "json!(query)".into();
    }
    let target = if in_path.is_empty() {
        format!("{path:?}")
    } else {
        let parts = path.split('/').map(|part| if part.starts_with('{') { "{}" } else { part });
        format!("&format!({:?}, {})", parts.collect::<Vec<_>>().join("/"), in_path.join(", "))
    };
    writeln!(methods).unwrap();
    comment(methods, "///", &format!("{}.", text(operation, "summary").trim_end_matches('.')));
    writeln!(methods, "///").unwrap();
    if !text(operation, "description").is_empty() {
        comment(methods, "///", text(operation, "description"));
        writeln!(methods, "///").unwrap();
    }
    let method = method.to_uppercase();
    writeln!(methods, "/// It sends `{method} {path}`.").unwrap();
    let send = match result {
        "Vec<u8>" => "bytes",
        "Box<dyn Read>" => "open",
        _ => "send",
    };
    writeln!(methods, "pub fn {name}(&self{arguments}) -> Result<{result}> {{").unwrap();
    if send == "send" {
        let option = |value: &str| {
            if value == "Value::Null" {
                "None::<&()>".to_string()
            } else {
                value.replace("json!(", "Some(")
            }
        };
        (query, body) = (option(&query), option(&body));
    }
    let call = format!("self.{send}({method:?}, {target}, {query}, {body})");
    let call = if send == "open" { format!("Ok(Box::new({call}?.into_reader()))") } else { call };
    writeln!(methods, "{call}\n}}").unwrap();
}

/// Returns the type of a successful response: `page` for a part of the admin page.
fn result(schemas: &Map<String, Value>, operation: &Value) -> String {
    let responses = operation["responses"].as_object().expect("responses");
    let success = responses.iter().find(|(status, _)| status.starts_with('2'));
    let content = success.and_then(|(_, response)| response["content"].as_object());
    match content.and_then(|content| content.iter().next()) {
        None => "()".into(),
        Some((kind_of_text, found)) => match kind_of_text.as_str() {
            "application/json" => kind(schemas, &found["schema"]),
            "text/event-stream" => "Box<dyn Read>".into(),
            "text/html" | "text/css" | "text/javascript" => "page".into(),
            _ => "Vec<u8>".into(),
        },
    }
}

fn pascal(name: &str) -> String {
    let words = name.split('_').map(|word| word[..1].to_uppercase() + &word[1..]);
    words.collect()
}
