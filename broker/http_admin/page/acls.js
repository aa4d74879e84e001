// Rules of access control lists, and what they decide.
import { Gone, Locked, asks, get } from "./api.js";
import { byId, el, empty, idOf, name, table } from "./dom.js";
const resource = (type, pattern, text) => `${type} ${pattern === "PREFIXED" ? `${text}…` : text}`;
/** A rule in one line. */
export const aclText = (acl) =>
  `${acl.principal} ${acl.permission_type} ${acl.operation} ` +
  resource(acl.resource_type, acl.pattern_type, acl.resource_name) +
  (acl.host === "*" ? "" : ` from ${acl.host}`);
/** What decided: a rule, a super user, or a default. */
export const ruleText = ({ rule, acl }) => (acl ? aclText(acl) : rule);
const verdict = (isAllowed, text) => el("span", { class: isAllowed ? "tag good" : "tag bad" }, text);
const aclRow = (acl) =>
  el(
    "tr",
    { id: idOf("acl", ...Object.values(acl)) },
    name(acl.principal),
    el("td", null, verdict(acl.permission_type === "ALLOW", acl.permission_type)),
    el("td", { class: "mono words" }, acl.operation),
    name(resource(acl.resource_type, acl.pattern_type, acl.resource_name)),
    name(acl.host),
    el(
      "td",
      { class: "num" },
      el(
        "button",
        {
          class: "quiet",
          "aria-label": `Remove ${aclText(acl)}`,
          ...asks("DELETE", `/v1/acls?${new URLSearchParams(acl)}`),
        },
        "Remove",
      ),
    ),
  );
export const aclsPart = (acls) =>
  acls.length
    ? table(["Who", "", "Operation", "Resource", "From", ""], acls.map(aclRow))
    : empty("No rules. With an authorizer only super users may do anything then; without, everybody.");
let question = null;
/** Ask again what the form was sent with: rules may have changed. */
export async function readDecisions() {
  if (question === null) return null;
  try {
    return { found: await get(`/v1/acls/decisions?${question}`) };
  } catch (error) {
    if (error instanceof Locked || error instanceof Gone) throw error;
    return { problem: error.message };
  }
}
export function decisionsPart(decisions) {
  if (decisions === null) return null;
  if (decisions.problem) return el("p", { class: "problem bad", role: "alert" }, decisions.problem);
  const rows = decisions.found.map((each) =>
    el(
      "tr",
      { id: idOf("decision", each.operation) },
      el("td", { class: "mono" }, each.operation),
      el("td", null, verdict(each.is_allowed, each.is_allowed ? "allowed" : "denied")),
      name(ruleText(each)),
    ),
  );
  return table(["Operation", "", "By"], rows);
}
byId("decide-form").addEventListener("submit", (event) => {
  event.preventDefault();
  const given = [...new FormData(event.target)].filter(([, text]) => text !== "");
  question = new URLSearchParams(given);
  document.dispatchEvent(new Event("changed"));
});
