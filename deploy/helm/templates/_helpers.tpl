{{- define "postern.name" -}}
{{- ternary .Release.Name (printf "%s-postern" .Release.Name) (contains "postern" .Release.Name) | trunc 50 | trimSuffix "-" }}
{{- end }}

{{- define "postern.selector" -}}
app.kubernetes.io/name: postern
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{- define "postern.labels" -}}
{{ include "postern.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ .Chart.Name }}-{{ .Chart.Version }}
{{- end }}

{{/* postern.yaml: the keys that follow from the values, and `config` for all others. */}}
{{- define "postern.configuration" -}}
{{- $own := dict
  "issuer" (required "issuer: say the public address of the service" .Values.issuer)
  "listen" (dict "host" "0.0.0.0" "port" 3000)
  "management" (dict "host" "0.0.0.0" "port" 3001)
  "store" (ternary "file:/run/postern/secrets/redis.url" "lmdb:/var/lib/postern" (ne .Values.redis.existingSecret ""))
}}
{{- range $key, $names := dict "encryption_keys" .Values.secrets.encryptionKeys "cookie_keys" .Values.secrets.cookieKeys }}
{{- $files := list }}
{{- range $names }}{{ $files = append $files (printf "file:/run/postern/secrets/%s" .) }}{{ end }}
{{- $_ := set $own $key $files }}
{{- end }}
{{- if .Values.users.existingSecret }}{{ $_ := set $own "users_from" "users.yaml" }}{{ end }}
{{- if .Values.views.existingConfigMap }}{{ $_ := set $own "views" "/etc/postern-views" }}{{ end }}
{{- range $key := list "issuer" "listen" "management" "store" "encryption_keys" "cookie_keys" "users_from" "views" }}
{{- if hasKey $.Values.config $key }}{{ fail (printf "config.%s: this key of postern.yaml follows from other values, see values.yaml" $key) }}{{ end }}
{{- end }}
{{- toYaml (merge $own .Values.config) }}
{{- end }}
