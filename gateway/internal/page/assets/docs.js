// Renders the OpenAPI document. Nothing is sent anywhere but to this host, and only when a reader tries a call.
"use strict";
SwaggerUIBundle({
  url: document.getElementById("docs").dataset.document,
  dom_id: "#docs",
  deepLinking: true,
  docExpansion: "none",
  defaultModelsExpandDepth: 0,
  defaultModelExpandDepth: 3,
  displayRequestDuration: true,
  persistAuthorization: false,
  validatorUrl: null,
  syntaxHighlight: { activated: true },
});
