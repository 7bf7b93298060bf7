# The Ruby gem openid_connect: the authorization-code flow of a web app. Speaks with run.ts by lines, as report.ts does.
require 'openid_connect'
require 'securerandom'
require 'digest'
require 'base64'
$stdout.sync = true

issuer, app = ENV.fetch('ISSUER'), ENV.fetch('APP')
client_id = ENV.fetch('CLIENT_ID')
puts "version #{Gem.loaded_specs['openid_connect']&.version || OpenIDConnect::VERSION}"

def ok(condition, what, seen = nil)
  abort "#{what}: #{seen}" unless condition
  puts "ok #{what}"
end

def visit(url)
  puts "visit #{url}"
  URI.decode_www_form(URI.parse($stdin.gets.strip).query.to_s).to_h
end

discovery = OpenIDConnect::Discovery::Provider::Config.discover!(issuer)
ok discovery.issuer == issuer, 'discovery'

client = OpenIDConnect::Client.new(
  identifier: client_id,
  secret: ENV.fetch('CLIENT_SECRET'),
  redirect_uri: "#{app}/callback",
  authorization_endpoint: discovery.authorization_endpoint,
  token_endpoint: discovery.token_endpoint,
  userinfo_endpoint: discovery.userinfo_endpoint
)
state, nonce, verifier = SecureRandom.hex(16), SecureRandom.hex(16), SecureRandom.urlsafe_base64(48)
answer = visit client.authorization_uri(
  scope: %i[openid email profile offline_access],
  state: state, nonce: nonce, prompt: 'consent',
  code_challenge: Base64.urlsafe_encode64(Digest::SHA256.digest(verifier), padding: false),
  code_challenge_method: 'S256'
)
ok answer['state'] == state, 'state', answer
client.authorization_code = answer['code']
token = client.access_token!(code_verifier: verifier)
id_token = OpenIDConnect::ResponseObject::IdToken.decode(token.id_token, discovery.jwks)
id_token.verify!(issuer: issuer, client_id: client_id, nonce: nonce)
ok id_token.sub == 'usr_fixture_person_ida', 'sign-in with PKCE, verified ID token', id_token
ok token.userinfo!.name == 'Ida Fixture', 'userinfo'
client.refresh_token = token.refresh_token
ok client.access_token!.refresh_token != token.refresh_token, 'refresh'
