package example;

import static org.springframework.security.config.Customizer.withDefaults;

import org.springframework.beans.factory.annotation.Value;
import org.springframework.boot.SpringApplication;
import org.springframework.boot.autoconfigure.SpringBootApplication;
import org.springframework.context.annotation.Bean;
import org.springframework.core.SpringVersion;
import org.springframework.core.annotation.Order;
import org.springframework.security.config.annotation.web.builders.HttpSecurity;
import org.springframework.security.core.SpringSecurityCoreVersion;
import org.springframework.security.core.annotation.AuthenticationPrincipal;
import org.springframework.security.oauth2.client.oidc.web.logout.OidcClientInitiatedLogoutSuccessHandler;
import org.springframework.security.oauth2.client.registration.ClientRegistrationRepository;
import org.springframework.security.oauth2.client.web.DefaultOAuth2AuthorizationRequestResolver;
import org.springframework.security.oauth2.client.web.OAuth2AuthorizationRequestCustomizers;
import org.springframework.security.oauth2.core.oidc.user.OidcUser;
import org.springframework.security.oauth2.jwt.Jwt;
import org.springframework.security.oauth2.jwt.JwtAudienceValidator;
import org.springframework.security.oauth2.jwt.JwtDecoder;
import org.springframework.security.oauth2.jwt.JwtIssuerValidator;
import org.springframework.security.oauth2.jwt.JwtTypeValidator;
import org.springframework.security.oauth2.jwt.JwtValidators;
import org.springframework.security.oauth2.jwt.NimbusJwtDecoder;
import org.springframework.security.web.SecurityFilterChain;
import org.springframework.web.bind.annotation.GetMapping;
import org.springframework.web.bind.annotation.RestController;

/** Spring Security, both ways: users sign in and see /me, services call /reports with access tokens. */
@SpringBootApplication
@RestController
public class App {
  public static void main(String[] args) {
    SpringApplication.run(App.class, args);
  }

  @Bean
  @Order(1)
  SecurityFilterChain api(HttpSecurity http) throws Exception {
    return http.securityMatcher("/reports")
        .authorizeHttpRequests(to -> to.anyRequest().hasAuthority("SCOPE_reports.read"))
        .oauth2ResourceServer(server -> server.jwt(withDefaults()))
        .build();
  }

  /** The decoder that Boot makes takes the type JWT alone; access tokens are at+jwt (RFC 9068 §2.1). */
  @Bean
  JwtDecoder accessTokens(@Value("${ISSUER}") String issuer, @Value("${API}") String api) {
    NimbusJwtDecoder decoder = NimbusJwtDecoder.withIssuerLocation(issuer).validateType(false).build();
    decoder.setJwtValidator(JwtValidators.createDefaultWithValidators(
        new JwtTypeValidator("at+jwt"), new JwtIssuerValidator(issuer), new JwtAudienceValidator(api)));
    return decoder;
  }

  @Bean
  SecurityFilterChain users(HttpSecurity http, ClientRegistrationRepository clients) throws Exception {
    var requests = new DefaultOAuth2AuthorizationRequestResolver(clients, "/oauth2/authorization");
    requests.setAuthorizationRequestCustomizer(OAuth2AuthorizationRequestCustomizers.withPkce());
    var signOut = new OidcClientInitiatedLogoutSuccessHandler(clients);
    signOut.setPostLogoutRedirectUri("{baseUrl}/");
    return http.authorizeHttpRequests(to -> to.requestMatchers("/").permitAll().anyRequest().authenticated())
        .oauth2Login(login -> login.authorizationEndpoint(at -> at.authorizationRequestResolver(requests)))
        .logout(logout -> logout.logoutSuccessHandler(signOut))
        .build();
  }

  @GetMapping("/")
  String home() {
    return SpringSecurityCoreVersion.getVersion() + ", Spring " + SpringVersion.getVersion();
  }

  @GetMapping("/me")
  String me(@AuthenticationPrincipal OidcUser user) {
    return user.getEmail();
  }

  @GetMapping("/reports")
  String reports(@AuthenticationPrincipal Jwt token) {
    return token.getClaimAsString("client_id");
  }
}
